import { queryOptions } from '@tanstack/react-query'
import type { Reader } from '#components/api/client.ts'
import type { QueryOf } from '#components/api/routes.ts'
import { whilePending } from '#components/queries/polling.ts'

const LIST_REFRESH_MS = 2_000
const WAITING_REFRESH_MS = 5_000

export const withdrawalQueries = {
  list: (api: Reader, query: QueryOf<'/dashboard/withdrawals'>) =>
    queryOptions({
      queryKey: ['withdrawals', api.scope, 'list', query],
      queryFn: ({ signal }) => api.get('/dashboard/withdrawals', { query, signal }),
      refetchInterval: whilePending(LIST_REFRESH_MS),
    }),
  /** Withdrawals of the account and mode that wait for approval. */
  waiting: (api: Reader) =>
    queryOptions({
      queryKey: ['withdrawals', api.scope, 'waiting'],
      queryFn: async ({ signal }) =>
        (await api.get('/dashboard/withdrawals/waiting', { signal })).data,
      refetchInterval: WAITING_REFRESH_MS,
    }),
  timeline: (api: Reader, id: string) =>
    queryOptions({
      queryKey: ['withdrawals', api.scope, 'timeline', id],
      queryFn: async ({ signal }) =>
        (await api.get('/dashboard/withdrawals/[id]/timeline', { params: { id }, signal })).data,
    }),
}
