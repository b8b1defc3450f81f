import { queryOptions } from '@tanstack/react-query'
import type { Reader } from '#components/api/client.ts'
import type { QueryOf } from '#components/api/routes.ts'

const HOME_REFRESH_MS = 10_000
const REQUESTS_REFRESH_MS = 5_000

/** Queries of what an account has one of, such as its balance, and of its logs. */
export const accountQueries = {
  balance: (api: Reader) =>
    queryOptions({
      queryKey: ['account', api.scope, 'balance'],
      queryFn: ({ signal }) => api.get('/account', { signal }),
    }),
  homes: ({ scope }: Reader) => ['account', scope, 'home'] as const,
  /** The query selects the days of the chart. */
  home: (api: Reader, query: QueryOf<'/dashboard/home'>) =>
    queryOptions({
      queryKey: [...accountQueries.homes(api), query],
      queryFn: async ({ signal }) => (await api.get('/dashboard/home', { query, signal })).data,
      refetchInterval: HOME_REFRESH_MS,
    }),
  steps: (api: Reader) =>
    queryOptions({
      queryKey: ['account', api.scope, 'steps'],
      queryFn: async ({ signal }) => (await api.get('/dashboard/steps', { signal })).data,
    }),
  requests: (api: Reader, query: QueryOf<'/requests'>) =>
    queryOptions({
      queryKey: ['account', api.scope, 'requests', query],
      queryFn: ({ signal }) => api.get('/requests', { query, signal }),
      refetchInterval: REQUESTS_REFRESH_MS,
    }),
  /** The log of the account or, for staff, of the installation. */
  audit: (api: Reader, isStaff: boolean, query: QueryOf<'/admin/audit'>) =>
    queryOptions({
      queryKey: ['account', api.scope, 'audit', isStaff, query],
      queryFn: ({ signal }) =>
        api.get(isStaff ? '/admin/audit' : '/dashboard/audit', { query, signal }),
    }),
}
