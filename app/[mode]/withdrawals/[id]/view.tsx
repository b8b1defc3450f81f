'use client'

import { useQuery } from '@tanstack/react-query'
import { useTranslations } from 'next-intl'
import { useEffect, useRef, useState } from 'react'
import { WithdrawalFacts } from '#app/[mode]/withdrawals/[id]/facts.tsx'
import { SimulatedBank } from '#app/[mode]/withdrawals/[id]/simulated-bank.tsx'
import { WithdrawalSteps } from '#app/[mode]/withdrawals/[id]/steps.tsx'
import { Problem } from '#components/form/problem.tsx'
import { Money } from '#components/format/format.tsx'
import { IfMay } from '#components/nav/may.tsx'
import { useApi } from '#components/nav/world.tsx'
import { WithdrawalState } from '#components/status/state-chips.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import type { WithdrawalStatus } from '#lib/rooms/withdrawals/states.ts'
import type { WithdrawalTimelineData } from '#lib/views/dashboard/schema.ts'

const LIVE_MS = 1_500
/** Poll interval after the outcome, until its webhook is delivered. */
const AFTERWARDS_MS = 5_000
const LOOKS_AFTERWARDS = 24

export function WithdrawalView({ first }: { first: WithdrawalTimelineData }) {
  const t = useTranslations('withdrawals')
  const api = useApi()
  const { id } = first.withdrawal
  const { data, error, refetch } = useQuery({
    queryKey: ['withdrawal', api.scope, id],
    queryFn: async ({ signal }) => {
      const path = `/dashboard/withdrawals/${id}/timeline`
      return (await api.get<{ data: WithdrawalTimelineData }>(path, signal)).data
    },
    initialData: first,
    refetchInterval: ({ state }) => {
      if (state.data?.withdrawal.status === 'pending') return LIVE_MS
      return state.dataUpdateCount < LOOKS_AFTERWARDS && isAwaited(state.data) && AFTERWARDS_MS
    },
  })
  const { withdrawal, dict_key } = data
  const reference = withdrawal.external_id ?? id.slice(0, 8)
  return (
    <>
      <PageHead
        title={<Money cents={withdrawal.amount} />}
        above={{ href: `/${withdrawal.mode}/withdrawals`, label: t('title') }}
        beside={
          <>
            <span className="max-w-[40vw] truncate font-mono text-[13px] text-ink">
              {reference}
            </span>
            <WithdrawalState status={withdrawal.status} />
          </>
        }
      />
      <Announcement status={withdrawal.status} />
      {error ? (
        <div className="mb-4">
          <Problem error={error} />
        </div>
      ) : null}
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 lg:grid-cols-[minmax(0,1fr)_minmax(0,1fr)]">
        <Sheet className="px-4 py-5 md:px-7 md:py-6">
          <WithdrawalSteps story={data} />
        </Sheet>
        <div className="grid grid-cols-[minmax(0,1fr)] gap-6">
          <Sheet className="px-4 py-5 md:px-7 md:py-6">
            <WithdrawalFacts withdrawal={withdrawal} dictKey={dict_key} />
          </Sheet>
          {withdrawal.mode === 'test' && dict_key.startsWith('hold@') ? (
            <IfMay do="withdrawals:write">
              <SimulatedBank withdrawal={withdrawal} onDecided={() => refetch()} />
            </IfMay>
          ) : null}
        </div>
      </div>
    </>
  )
}

function isAwaited(story: WithdrawalTimelineData | undefined): boolean {
  const told = story?.steps.filter(step => step.what === 'told') ?? []
  return story?.withdrawal.webhook_url !== null && !told.some(({ problem }) => problem === null)
}

/** Announces the outcome to screen readers. */
function Announcement({ status }: { status: WithdrawalStatus }) {
  const t = useTranslations('withdrawal')
  const before = useRef(status)
  const [said, setSaid] = useState<'approved' | 'rejected' | null>(null)
  useEffect(() => {
    if (before.current === 'pending' && status !== 'pending') setSaid(status)
    before.current = status
  }, [status])
  return (
    <p aria-live="polite" className="sr-only">
      {said ? t(`ended.${said}`) : ''}
    </p>
  )
}
