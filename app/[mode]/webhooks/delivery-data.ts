'use client'

import { useQuery } from '@tanstack/react-query'
import { useApi } from '#components/form/api.ts'
import type { ApiScope } from '#lib/core/call-api.ts'
import type {
  DeliveriesQuery,
  Delivery,
  DeliveryDetail,
  DeliveryPage,
} from '#lib/webhooks/schema.ts'

/** Maximum poll interval of the newest page, so that new deliveries appear. */
const NEWEST_PAGE_POLL_MS = 4_000
const POLL_FAST_MS = 1_000
const POLL_SLOW_MS = 8_000
/** A delivery that is due within this time makes the page poll fast. */
const DUE_SOON_MS = 5_000

export const DELIVERIES_PATH = '/webhooks/deliveries'

export const deliveriesKey = ({ accountId, mode }: ApiScope) =>
  ['deliveries', accountId, mode] as const

/** Reads a page of deliveries. Refetches while a delivery is pending; the newest page, always. */
export function useDeliveries(query: DeliveriesQuery, initialData: DeliveryPage) {
  const api = useApi()
  const params = new URLSearchParams(
    Object.entries(query).map(([name, value]) => [name, `${value}`]),
  )
  return useQuery({
    queryKey: [...deliveriesKey(api.scope), `${params}`],
    queryFn: ({ signal }) => api.get<DeliveryPage>(`${DELIVERIES_PATH}?${params}`, signal),
    initialData,
    refetchInterval: ({ state }) => {
      const interval = pollIntervalOf(state.data?.data ?? [])
      return query.cursor
        ? interval
        : Math.min(interval || NEWEST_PAGE_POLL_MS, NEWEST_PAGE_POLL_MS)
    },
  })
}

export function useDelivery(initialDelivery: DeliveryDetail) {
  const api = useApi()
  return useQuery({
    queryKey: [...deliveriesKey(api.scope), 'one', initialDelivery.id],
    queryFn: ({ signal }) =>
      api.get<{ data: DeliveryDetail }>(`${DELIVERIES_PATH}/${initialDelivery.id}`, signal),
    initialData: { data: initialDelivery },
    refetchInterval: ({ state }) => pollIntervalOf(state.data ? [state.data.data] : []),
  })
}

function pollIntervalOf(deliveries: Delivery[]): number | false {
  const pending = deliveries.filter(({ status }) => status === 'pending')
  const isDueSoon = ({ is_under_way, next_attempt_at: at }: Delivery) =>
    is_under_way || (at !== null && Date.parse(at) - Date.now() < DUE_SOON_MS)
  if (pending.some(isDueSoon)) return POLL_FAST_MS
  return pending.length > 0 ? POLL_SLOW_MS : false
}
