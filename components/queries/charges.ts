import { queryOptions } from '@tanstack/react-query'
import type { Reader } from '#components/api/client.ts'
import type { QueryOf } from '#components/api/routes.ts'
import { whilePending } from '#components/queries/polling.ts'

const LIST_REFRESH_MS = 4_000
const TOTALS_REFRESH_MS = 15_000
/** The merchant's programs create charges while the simulated bank is open. */
const PENDING_REFRESH_MS = 5_000

export const chargeQueries = {
  all: ({ scope }: Reader) => ['charges', scope] as const,
  list: (api: Reader, query: QueryOf<'/dashboard/charges'>) =>
    queryOptions({
      queryKey: [...chargeQueries.all(api), 'list', query],
      queryFn: ({ signal }) => api.get('/dashboard/charges', { query, signal }),
      refetchInterval: whilePending(LIST_REFRESH_MS),
    }),
  totals: (api: Reader, query: QueryOf<'/dashboard/charges/totals'>) =>
    queryOptions({
      queryKey: [...chargeQueries.all(api), 'totals', query],
      queryFn: ({ signal }) => api.get('/dashboard/charges/totals', { query, signal }),
      refetchInterval: TOTALS_REFRESH_MS,
    }),
  pending: (api: Reader, limit: number) =>
    queryOptions({
      ...chargeQueries.list(api, { status: 'pending', limit: `${limit}` }),
      refetchInterval: PENDING_REFRESH_MS,
    }),
  timeline: (api: Reader, id: string) =>
    queryOptions({
      queryKey: [...chargeQueries.all(api), 'timeline', id],
      queryFn: async ({ signal }) =>
        (await api.get('/dashboard/charges/[id]/timeline', { params: { id }, signal })).data,
    }),
}
