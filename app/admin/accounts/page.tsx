import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { AccountList } from '#app/admin/accounts/account-list.tsx'
import { AccountSelection, InviteMerchant } from '#app/admin/accounts/list-actions.tsx'
import { FilteredList } from '#app/admin/filtered-list.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { env } from '#lib/core/settings.ts'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { readListFilters } from '#lib/dashboard/url-filters.ts'
import { countPendingAccounts, listAccountLines } from '#lib/operator/accounts.ts'
import { ACCOUNT_FILTERS } from '#lib/operator/schema.ts'
import { requireAdmin } from '#lib/session/gate.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('accounts'))('title') }
}

interface AccountsPageProps {
  searchParams: Promise<SearchParams>
}

export default async function AccountsPage({ searchParams }: AccountsPageProps) {
  await requireAdmin()
  const filters = readListFilters(await searchParams, ACCOUNT_FILTERS)
  const [t, { rows, nextCursor }, pending] = await Promise.all([
    getTranslations(),
    listAccountLines(filters),
    countPendingAccounts(),
  ])
  const statuses = ACCOUNT_FILTERS.map(value => ({ value, label: t(`accountStatus.${value}`) }))
  return (
    <>
      <PageHead title={t('accounts.title')}>
        {env().SIGNUPS === 'closed' ? null : (
          <ClientMessages namespaces={['inviteMerchant', 'invitationLink']}>
            <InviteMerchant />
          </ClientMessages>
        )}
      </PageHead>
      <ClientMessages namespaces={['accounts', 'accountSelection', 'adminDeed', 'adminTokens']}>
        <AccountSelection>
          <FilteredList namespace="accounts" {...{ statuses, pending, nextCursor }}>
            {rows.length > 0 ? <AccountList accounts={rows} /> : null}
          </FilteredList>
        </AccountSelection>
      </ClientMessages>
    </>
  )
}
