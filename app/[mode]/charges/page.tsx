import { CircleAlert, Plus } from 'lucide-react'
import type { Metadata } from 'next'
import Link from 'next/link'
import { getTranslations } from 'next-intl/server'
import { ChargeList } from '#app/[mode]/charges/list.tsx'
import { Prefetched, readerFor, seed } from '#components/api/prefetch.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { IfAllowed } from '#components/nav/permissions.tsx'
import { chargeQueries } from '#components/queries/charges.ts'
import { buttonClass } from '#components/ui/button-class.ts'
import { PageHead } from '#components/ui/page-head.tsx'
import { Notice } from '#components/ui/sheet.tsx'
import { connectionIn } from '#lib/banks/served.ts'
import { listChargeRows, rowFiltersOf, shownChargesQuery } from '#lib/charges/list.ts'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { readFilters } from '#lib/dashboard/url-filters.ts'
import { hasPermission } from '#lib/people/roles.ts'
import { hideFromViewer, requireMember } from '#lib/session/gate.ts'

const PAGE_SIZE = 25

interface ChargesPageProps {
  params: Promise<{ mode: string }>
  searchParams: Promise<SearchParams>
}

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('charges'))('title') }
}

export default async function ChargesPage({ params, searchParams }: ChargesPageProps) {
  const { account, mode, user } = await requireMember(params)
  const [t, search] = await Promise.all([getTranslations('charges'), searchParams])
  const { timeZone } = account
  const { apiParams, filters, query } = readFilters(search, shownChargesQuery, timeZone, PAGE_SIZE)
  const filtered = {
    ...rowFiltersOf(hideFromViewer(user, query)),
    matchesDocuments: hasPermission(account.role, 'payers:read'),
    isViewing: user.viewing !== null,
  }
  const { rows, nextCursor } = await listChargeRows(account.id, mode, filtered)
  return (
    <ClientMessages namespaces={['charges', 'chargeStatus']}>
      <PageHead title={t('title')}>
        <IfAllowed permission="transactions:write">
          <Link href={`/${mode}/charges/new`} prefetch={false} className={buttonClass('primary')}>
            <Plus size={17} aria-hidden />
            {t('new')}
          </Link>
        </IfAllowed>
      </PageHead>
      {connectionIn(mode, account.receivingConnectionId) ? null : (
        <div className="mb-4">
          <Notice tone="wait" icon={CircleAlert}>
            {t('disabled')}
          </Notice>
        </div>
      )}
      <Prefetched
        seeds={[
          seed(chargeQueries.list(readerFor(mode, user, account), apiParams), {
            data: hideFromViewer(user, rows),
            next_cursor: nextCursor,
          }),
        ]}
      >
        <ChargeList query={apiParams} filters={filters} />
      </Prefetched>
    </ClientMessages>
  )
}
