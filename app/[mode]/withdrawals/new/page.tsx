import type { Metadata } from 'next'
import { redirect } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { RequestForm } from '#app/[mode]/withdrawals/new/request-form.tsx'
import { Prefetched, readerFor, seed } from '#components/api/prefetch.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { accountQueries } from '#components/queries/account.ts'
import { PageHead } from '#components/ui/page-head.tsx'
import { connectionIn } from '#lib/banks/served.ts'
import { readAvailable } from '#lib/ledger/book.ts'
import { requirePermission } from '#lib/session/gate.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('withdrawals'))('new') }
}

export default async function NewWithdrawalPage({ params }: { params: Promise<{ mode: string }> }) {
  const { account, mode, user } = await requirePermission(params, 'withdrawals/new')
  if (!connectionIn(mode, account.payingConnectionId)) redirect(`/${mode}/withdrawals`)
  const [t, balance] = await Promise.all([
    getTranslations('withdrawals'),
    readAvailable(account.id, mode),
  ])
  return (
    <>
      <PageHead title={t('new')} parent={{ href: `/${mode}/withdrawals`, label: t('title') }} />
      <ClientMessages namespaces={['withdrawals', 'withdrawalRequest', 'pixKey']}>
        <Prefetched
          seeds={[
            seed(accountQueries.balance(readerFor(mode, user, account)), {
              name: account.name,
              balance,
            }),
          ]}
        >
          <RequestForm mode={mode} />
        </Prefetched>
      </ClientMessages>
    </>
  )
}
