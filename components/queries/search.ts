import { queryOptions } from '@tanstack/react-query'
import type { Reader } from '#components/api/client.ts'
import type { Hit } from '#lib/dashboard/schema.ts'

const STALE_MS = 5_000

export const searchQueries = {
  /** What a term finds in the account and mode. */
  hits: (api: Reader, q: string) =>
    queryOptions({
      queryKey: ['search', api.scope, 'hits', q],
      queryFn: async ({ signal }): Promise<Hit[]> =>
        (await api.get('/dashboard/find', { query: { q }, signal })).data,
      staleTime: STALE_MS,
    }),
  /** What a term finds among all accounts, for staff. */
  accounts: (api: Reader, q: string) =>
    queryOptions({
      queryKey: ['search', api.scope, 'accounts', q],
      queryFn: async ({ signal }): Promise<Hit[]> => {
        const { data } = await api.get('/admin/accounts', { query: { q }, signal })
        return data.map(({ id, name, status, owner_email: detail }) => ({
          kind: 'account',
          id,
          label: name,
          detail,
          status: `account_${status}`,
          amount: null,
          href: `/admin/accounts/${id}`,
          isExact: false,
        }))
      },
      staleTime: STALE_MS,
    }),
}
