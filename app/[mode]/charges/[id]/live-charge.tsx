'use client'

import { useQuery } from '@tanstack/react-query'
import { useLocale, useTranslations } from 'next-intl'
import { createContext, type ReactNode, use, useState } from 'react'
import { useChargeStream } from '#app/[mode]/charges/[id]/use-charge-stream.ts'
import { useApi } from '#components/form/api.ts'
import { moneyText } from '#components/format/format.tsx'
import { shownStatusOf } from '#lib/charges/states.ts'
import type { ChargeTimelineData } from '#lib/dashboard/schema.ts'

const POLL_FAST_MS = 2_000
/** Poll interval after a charge expired or failed: the bank may still report a payment. */
const POLL_SLOW_MS = 15_000
/** A webhook attempt that is due within this time makes the page poll fast. */
const DUE_SOON_MS = 30_000

interface LiveChargeValue {
  timeline: ChargeTimelineData
  hasStatusChanged: boolean
  refresh: () => Promise<unknown>
}

const LiveChargeContext = createContext<LiveChargeValue | null>(null)

export function useLiveCharge(): LiveChargeValue {
  const live = use(LiveChargeContext)
  if (!live) throw new Error('useLiveCharge() is called outside <LiveCharge>')
  return live
}

interface LiveChargeProps {
  initialData: ChargeTimelineData
  children: ReactNode
}

/** Refetches the charge of the page while it can still change, and announces a new status. */
export function LiveCharge({ initialData, children }: LiveChargeProps) {
  const api = useApi()
  const [initialStatus] = useState(initialData.charge.status)
  const [isStreaming, setStreaming] = useState(false)
  const path = `/dashboard/charges/${initialData.charge.id}`
  const { data: timeline, refetch } = useQuery({
    queryKey: ['charge', api.scope, path],
    queryFn: async ({ signal }) =>
      (await api.get<{ data: ChargeTimelineData }>(`${path}/timeline`, signal)).data,
    initialData,
    refetchInterval: ({ state }) =>
      isStreaming ? false : pollIntervalOf(state.data ?? initialData),
  })
  const refresh = () => refetch({ cancelRefetch: true })
  const isChangeExpected = pollIntervalOf(timeline) === POLL_FAST_MS
  useChargeStream({
    path: `${path}/live`,
    isEnabled: isChangeExpected,
    onChange: refresh,
    setStreaming,
  })
  const hasStatusChanged = timeline.charge.status !== initialStatus
  return (
    <LiveChargeContext value={{ timeline, hasStatusChanged, refresh }}>
      {children}
      <Announcement timeline={timeline} hasStatusChanged={hasStatusChanged} />
    </LiveChargeContext>
  )
}

function Announcement({ timeline, hasStatusChanged }: Omit<LiveChargeValue, 'refresh'>) {
  const t = useTranslations('charge')
  const locale = useLocale()
  const { amount, client_name: name } = timeline.charge
  const outcome = shownStatusOf(timeline.charge)
  const message =
    outcome === 'paid'
      ? `${t('paidTitle')}. ${t('paidText', { amount: moneyText(amount, locale), name })}`
      : t(`announce.${outcome}`)
  return (
    <p role="status" className="sr-only">
      {hasStatusChanged ? message : ''}
    </p>
  )
}

/** Returns the poll interval; false for a paid charge without a pending refund or due attempt. */
function pollIntervalOf({ charge, refunds, steps }: ChargeTimelineData): number | false {
  const isDueSoon = (at: string | null) => at === null || Date.parse(at) < Date.now() + DUE_SOON_MS
  const isChangeExpected =
    charge.status === 'pending' ||
    refunds.some(({ status }) => status === 'pending') ||
    steps.some(step => step.what === 'next_try' && isDueSoon(step.at))
  if (isChangeExpected) return POLL_FAST_MS
  return charge.status === 'paid' ? false : POLL_SLOW_MS
}
