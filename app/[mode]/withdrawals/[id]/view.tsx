'use client'

import { useQuery } from '@tanstack/react-query'
import { ReceiptText } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { useEffect, useRef, useState } from 'react'
import { ApprovalCard } from '#app/[mode]/withdrawals/[id]/approval-card.tsx'
import { WithdrawalFacts } from '#app/[mode]/withdrawals/[id]/facts.tsx'
import { SimulateWithdrawal } from '#app/[mode]/withdrawals/[id]/simulate.tsx'
import { WithdrawalTimeline } from '#app/[mode]/withdrawals/[id]/timeline.tsx'
import { useApi } from '#components/form/api.ts'
import { Problem } from '#components/form/problem.tsx'
import { Money } from '#components/format/format.tsx'
import { IfAllowed } from '#components/nav/permissions.tsx'
import { WithdrawalState } from '#components/status/withdrawal-state.tsx'
import { buttonClass } from '#components/ui/button.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import type { WithdrawalTimelineData } from '#lib/dashboard/schema.ts'
import type { WithdrawalStatus } from '#lib/withdrawals/states.ts'

const POLL_FAST_MS = 1_500
/** Poll interval while people decide, and after the outcome until the webhook is delivered. */
const POLL_SLOW_MS = 5_000
const POLLS_MAX = 24

export function WithdrawalView({ initialData }: { initialData: WithdrawalTimelineData }) {
  const t = useTranslations('withdrawals')
  const api = useApi()
  const { id } = initialData.withdrawal
  const { data, error, refetch } = useQuery({
    queryKey: ['withdrawal', api.scope, id],
    queryFn: async ({ signal }) => {
      const path = `/dashboard/withdrawals/${id}/timeline`
      return (await api.get<{ data: WithdrawalTimelineData }>(path, signal)).data
    },
    initialData,
    refetchInterval: ({ state }) => {
      if (state.data?.approval) return POLL_SLOW_MS
      if (state.data?.withdrawal.status === 'pending') return POLL_FAST_MS
      return state.dataUpdateCount < POLLS_MAX && isDeliveryAwaited(state.data) && POLL_SLOW_MS
    },
  })
  const { withdrawal, dict_key, payee } = data
  const reference = withdrawal.external_id ?? id.slice(0, 8)
  return (
    <>
      <PageHead
        title={<Money cents={withdrawal.amount} />}
        parent={{ href: `/${withdrawal.mode}/withdrawals`, label: t('title') }}
        beside={
          <>
            <span className="max-w-[36ch] truncate font-mono text-[13px] max-md:max-w-[16ch]">
              {reference}
            </span>
            <WithdrawalState {...withdrawal} />
          </>
        }
      >
        {data.has_receipt ? (
          <Link
            href={`/${withdrawal.mode}/withdrawals/${id}/receipt`}
            prefetch={false}
            className={buttonClass('quiet')}
          >
            <ReceiptText size={16} aria-hidden />
            {t('receipt')}
          </Link>
        ) : null}
      </PageHead>
      <Announcement status={withdrawal.status} />
      {error ? (
        <div className="mb-4">
          <Problem error={error} />
        </div>
      ) : null}
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 xl:grid-cols-[minmax(0,1fr)_minmax(0,1fr)]">
        <Sheet className="px-4 py-5 md:px-7 md:py-6">
          <WithdrawalTimeline timeline={data} />
        </Sheet>
        <div className="grid grid-cols-[minmax(0,1fr)] gap-6">
          <Sheet className="px-4 py-5 md:px-7 md:py-6">
            <h2 className="mb-5 text-title">{t('details')}</h2>
            <WithdrawalFacts withdrawal={withdrawal} dictKey={dict_key} payee={payee} />
          </Sheet>
          {data.approval ? (
            <ApprovalCard withdrawalId={id} approval={data.approval} onDecided={() => refetch()} />
          ) : null}
          {withdrawal.mode === 'test' ? (
            <IfAllowed permission="transactions:write">
              <SimulateWithdrawal withdrawal={withdrawal} onDecided={() => refetch()} />
            </IfAllowed>
          ) : null}
        </div>
      </div>
    </>
  )
}

function isDeliveryAwaited(timeline: WithdrawalTimelineData | undefined): boolean {
  const deliveries = timeline?.steps.filter(step => step.what === 'told') ?? []
  return (
    timeline?.withdrawal.webhook_url !== null && !deliveries.some(({ problem }) => problem === null)
  )
}

function Announcement({ status }: { status: WithdrawalStatus }) {
  const t = useTranslations('withdrawal')
  const previousStatus = useRef(status)
  const [announced, setAnnounced] = useState<'approved' | 'rejected' | null>(null)
  useEffect(() => {
    if (previousStatus.current === 'pending' && status !== 'pending') setAnnounced(status)
    previousStatus.current = status
  }, [status])
  return (
    <p aria-live="polite" className="sr-only">
      {announced ? t(`ended.${announced}`) : ''}
    </p>
  )
}
