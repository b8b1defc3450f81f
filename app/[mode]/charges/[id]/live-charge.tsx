'use client'

import { useSuspenseQuery } from '@tanstack/react-query'
import { useLocale, useTranslations } from 'next-intl'
import { createContext, type ReactNode, use, useEffect, useRef, useState } from 'react'
import type { Api } from '#components/api/client.ts'
import { useApi } from '#components/api/use-api.ts'
import { moneyText } from '#components/format/format.tsx'
import { chargeQueries } from '#components/queries/charges.ts'
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
  id: string
  children: ReactNode
}

/** Refetches the charge of the page while it can still change, and announces a new status. */
export function LiveCharge({ id, children }: LiveChargeProps) {
  const api = useApi()
  const [isStreaming, setStreaming] = useState(false)
  const { data: timeline, refetch } = useSuspenseQuery({
    ...chargeQueries.timeline(api, id),
    refetchInterval: ({ state }) =>
      isStreaming || !state.data ? false : pollIntervalOf(state.data),
  })
  const [initialStatus] = useState(timeline.charge.status)
  const refresh = () => refetch({ cancelRefetch: true })
  const isChangeExpected = pollIntervalOf(timeline) === POLL_FAST_MS
  useChargeStream({
    id,
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
      ? `${t('paidTitle')}. ${t(name ? 'paidText' : 'paidUnnamed', { amount: moneyText(amount, locale), name })}`
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

/** Delay before opening the stream, because many visits are shorter. Until then the page polls. */
const OPEN_AFTER_MS = 2_000
/** Delay after a refused or broken stream; meanwhile the page polls. */
const RETRY_AFTER_MS = 20_000
/** Silence after which the stream counts as broken: the server sends something every 15 s. */
const SILENT_MAX_MS = 40_000

interface ChargeStreamOptions {
  id: string
  isEnabled: boolean
  onChange: () => void
  setStreaming: (isStreaming: boolean) => void
}

/** Listens to the server-sent events of a charge. Uses fetch: EventSource cannot send headers. */
function useChargeStream({ id, isEnabled, onChange, setStreaming }: ChargeStreamOptions): void {
  const api = useApi()
  const latestOnChange = useRef(onChange)
  useEffect(() => {
    latestOnChange.current = onChange
  })
  useEffect(() => {
    if (!isEnabled) return
    const unmountController = new AbortController()
    let timer = setTimeout(listen, OPEN_AFTER_MS)
    async function listen() {
      const isClosedNormally = await readStream(api, id, unmountController.signal, () => {
        setStreaming(true)
        latestOnChange.current()
      }).catch(() => false)
      if (unmountController.signal.aborted) return
      setStreaming(false)
      timer = setTimeout(listen, isClosedNormally ? OPEN_AFTER_MS : RETRY_AFTER_MS)
    }
    return () => {
      clearTimeout(timer)
      unmountController.abort()
      setStreaming(false)
    }
  }, [api, id, isEnabled, setStreaming])
}

/** Reads the stream until it ends. Returns whether the server closed it normally. */
async function readStream(
  api: Api,
  id: string,
  unmountSignal: AbortSignal,
  onChange: () => void,
): Promise<boolean> {
  const silenceController = new AbortController()
  const abortOnSilence = () => silenceController.abort()
  let silenceTimer = setTimeout(abortOnSilence, SILENT_MAX_MS)
  try {
    const { body } = await api.fetchRaw('/dashboard/charges/[id]/live', {
      params: { id },
      signal: AbortSignal.any([unmountSignal, silenceController.signal]),
    })
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
    for (let rest = ''; reader; ) {
      const { done, value } = await reader.read()
      if (done) return true
      clearTimeout(silenceTimer)
      silenceTimer = setTimeout(abortOnSilence, SILENT_MAX_MS)
      const events = (rest + value).split('\n\n')
      rest = events.pop() ?? ''
      if (events.some(event => event.startsWith('data:'))) onChange()
    }
    return false
  } finally {
    clearTimeout(silenceTimer)
  }
}
