import { queryOptions } from '@tanstack/react-query'
import type { Reader } from '#components/api/client.ts'
import type { QueryOf } from '#components/api/routes.ts'
import type { Delivery } from '#lib/webhooks/schema.ts'

/** Maximum poll interval of the newest page, so that new deliveries appear. */
const NEWEST_PAGE_POLL_MS = 4_000
const POLL_FAST_MS = 1_000
const POLL_SLOW_MS = 8_000
/** A delivery that is due within this time makes the page poll fast. */
const DUE_SOON_MS = 5_000
const RECOUNT_MS = 15_000

export const deliveryQueries = {
  all: ({ scope }: Reader) => ['deliveries', scope] as const,
  /** Refetches while a delivery is pending; the newest page, always. */
  list: (api: Reader, query: QueryOf<'/webhooks/deliveries'>) =>
    queryOptions({
      queryKey: [...deliveryQueries.all(api), 'list', query],
      queryFn: ({ signal }) => api.get('/webhooks/deliveries', { query, signal }),
      refetchInterval: ({ state }) => {
        const interval = pollIntervalOf(state.data?.data ?? [])
        return query.cursor
          ? interval
          : Math.min(interval || NEWEST_PAGE_POLL_MS, NEWEST_PAGE_POLL_MS)
      },
    }),
  one: (api: Reader, id: string) =>
    queryOptions({
      queryKey: [...deliveryQueries.all(api), 'one', id],
      queryFn: ({ signal }) => api.get('/webhooks/deliveries/[id]', { params: { id }, signal }),
      refetchInterval: ({ state }) => pollIntervalOf(state.data ? [state.data.data] : []),
    }),
  failed: (api: Reader, query: QueryOf<'/dashboard/webhooks/deliveries/resend'>) =>
    queryOptions({
      queryKey: [...deliveryQueries.all(api), 'failed', query],
      queryFn: ({ signal }) => api.get('/dashboard/webhooks/deliveries/resend', { query, signal }),
      refetchInterval: RECOUNT_MS,
    }),
}

function pollIntervalOf(deliveries: Delivery[]): number | false {
  const pending = deliveries.filter(({ status }) => status === 'pending')
  const isDueSoon = ({ is_under_way, next_attempt_at: at }: Delivery) =>
    is_under_way || (at !== null && Date.parse(at) - Date.now() < DUE_SOON_MS)
  if (pending.some(isDueSoon)) return POLL_FAST_MS
  return pending.length > 0 ? POLL_SLOW_MS : false
}
