import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { WithdrawalView } from '#app/[mode]/withdrawals/[id]/view.tsx'
import { Prefetched, readerFor, seed } from '#components/api/prefetch.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { withdrawalQueries } from '#components/queries/withdrawals.ts'
import { isTrocoError } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import { readWithdrawalTimeline } from '#lib/dashboard/timeline.ts'
import { hideFromViewer, requireMember } from '#lib/session/gate.ts'

interface WithdrawalPageProps {
  params: Promise<{ mode: string; id: string }>
}

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('withdrawals'))('one') }
}

export default async function WithdrawalPage({ params }: WithdrawalPageProps) {
  const { account, mode, user } = await requireMember(params)
  const { id } = await params
  const timeline = await findTimeline(account.id, mode, id, user.id)
  return (
    <ClientMessages
      namespaces={[
        'withdrawals',
        'withdrawal',
        'withdrawalStatus',
        'pixKey',
        'approvals',
        'rejection',
        'deliveryProblem',
        'simulate',
      ]}
    >
      <Prefetched
        seeds={[
          seed(
            withdrawalQueries.timeline(readerFor(mode, user, account), id),
            hideFromViewer(user, timeline),
          ),
        ]}
      >
        <WithdrawalView id={id} />
      </Prefetched>
    </ClientMessages>
  )
}

async function findTimeline(
  ...[accountId, mode, id, userId]: Parameters<typeof readWithdrawalTimeline>
) {
  if (!isUuid(id)) notFound()
  return readWithdrawalTimeline(accountId, mode, id, userId).catch(error => {
    if (isTrocoError(error) && error.code === 'withdrawal_not_found') notFound()
    throw error
  })
}
