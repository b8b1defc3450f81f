'use client'

import { useQuery } from '@tanstack/react-query'
import { useLocale, useTranslations } from 'next-intl'
import { createContext, type ReactNode, use, useState } from 'react'
import { useChargeStream } from '#app/[mode]/charges/[id]/use-charge-stream.ts'
import { moneyText } from '#components/format/format.tsx'
import { useApi } from '#components/nav/world.tsx'
import type { ChargeTimelineData } from '#lib/views/dashboard/schema.ts'

const SOON_MS = 2_000
/** Poll interval after a charge expired or failed: the bank may still report its payment. */
const LATE_MS = 15_000
/** Polls fast while the next webhook attempt is due within this time. */
const NEAR_MS = 30_000

interface Live {
  story: ChargeTimelineData
  /** The status has changed since the page was opened. */
  hasTurned: boolean
  refresh: () => void
}

const LiveContext = createContext<Live | null>(null)

/** Returns the charge of the page, kept up to date. */
export function useStory(): Live {
  const live = use(LiveContext)
  if (!live) throw new Error('useStory() is called outside <LiveCharge>')
  return live
}

interface LiveChargeProps {
  first: ChargeTimelineData
  children: ReactNode
}

/** Refetches the charge of the page while it can still change, and announces a new status. */
export function LiveCharge({ first, children }: LiveChargeProps) {
  const api = useApi()
  const [seen] = useState(first.charge.status)
  const [isStreaming, setStreaming] = useState(false)
  const path = `/dashboard/charges/${first.charge.id}`
  const { data: story, refetch } = useQuery({
    queryKey: ['charge', api.scope, path],
    queryFn: async ({ signal }) =>
      (await api.get<{ data: ChargeTimelineData }>(`${path}/timeline`, signal)).data,
    initialData: first,
    refetchInterval: ({ state }) => (isStreaming ? false : pauseOf(state.data ?? first)),
  })
  const refresh = () => void refetch({ cancelRefetch: true })
  const isAwaited = pauseOf(story) === SOON_MS
  useChargeStream({ path: `${path}/live`, isWanted: isAwaited, onNews: refresh, setStreaming })
  const hasTurned = story.charge.status !== seen
  return (
    <LiveContext value={{ story, hasTurned, refresh }}>
      {children}
      <Announcement story={story} hasTurned={hasTurned} />
    </LiveContext>
  )
}

function Announcement({ story, hasTurned }: Omit<Live, 'refresh'>) {
  const t = useTranslations('charge')
  const locale = useLocale()
  const { status, amount, client_name: name } = story.charge
  const words =
    status === 'paid'
      ? `${t('paidTitle')}. ${t('paidText', { amount: moneyText(amount, locale), name })}`
      : t(`announce.${status}`)
  return (
    <p role="status" className="sr-only">
      {hasTurned ? words : ''}
    </p>
  )
}

/** Returns the poll interval; false: nothing can change any more. */
function pauseOf({ charge, refunds, steps }: ChargeTimelineData): number | false {
  const isNear = (at: string | null) => at === null || Date.parse(at) < Date.now() + NEAR_MS
  const isAwaited =
    charge.status === 'pending' ||
    refunds.some(({ status }) => status === 'pending') ||
    steps.some(step => step.what === 'next_try' && isNear(step.at))
  if (isAwaited) return SOON_MS
  return charge.status === 'paid' ? false : LATE_MS
}
