'use client'

import { useQuery } from '@tanstack/react-query'
import { useApi } from '#components/nav/world.tsx'
import type { ApiScope } from '#lib/edge/client/api.ts'
import type {
  DeliveriesQuery,
  Delivery,
  DeliveryDetail,
  DeliveryPage,
} from '#lib/services/webhooks/schema.ts'

/** Poll interval of the newest page, so that new deliveries appear. */
const NEWS_MS = 4_000
const SOON_MS = 1_000
const WAITING_MS = 8_000
/** A delivery due within this time is polled as often as one in progress. */
const NEAR_MS = 5_000

export const ROOT = '/dashboard/webhooks/deliveries'

export const keyOf = ({ accountId, mode }: ApiScope) => ['deliveries', accountId, mode] as const

/** Reads a page of deliveries; refetched while one is pending, the newest page always. */
export function useDeliveries(query: DeliveriesQuery, first: DeliveryPage) {
  const api = useApi()
  const asked = new URLSearchParams(
    Object.entries(query).map(([name, value]) => [name, `${value}`]),
  )
  return useQuery({
    queryKey: [...keyOf(api.scope), `${asked}`],
    queryFn: ({ signal }) => api.get<DeliveryPage>(`${ROOT}?${asked}`, signal),
    initialData: first,
    refetchInterval: ({ state }) => {
      const pace = paceOf(state.data?.data ?? [])
      return query.cursor ? pace : Math.min(pace || NEWS_MS, NEWS_MS)
    },
  })
}

/** Reads a delivery with its attempts, refetched while it is pending. */
export function useDelivery(first: DeliveryDetail) {
  const api = useApi()
  return useQuery({
    queryKey: [...keyOf(api.scope), 'one', first.id],
    queryFn: ({ signal }) => api.get<{ data: DeliveryDetail }>(`${ROOT}/${first.id}`, signal),
    initialData: { data: first },
    refetchInterval: ({ state }) => paceOf(state.data ? [state.data.data] : []),
  })
}

function paceOf(deliveries: Delivery[]): number | false {
  const pending = deliveries.filter(({ status }) => status === 'pending')
  const isNear = ({ is_under_way, next_attempt_at: at }: Delivery) =>
    is_under_way || (at !== null && Date.parse(at) - Date.now() < NEAR_MS)
  if (pending.some(isNear)) return SOON_MS
  return pending.length > 0 ? WAITING_MS : false
}
