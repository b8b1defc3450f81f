import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { Reader } from '#components/api/client.ts'

const HEALTH_REFRESH_MS = 5_000
const TASKS_REFRESH_MS = 30_000
/** The balance is asked of the bank: more often would show little more. */
const MONEY_REFRESH_MS = 60_000
const TRIAL_REFRESH_MS = 2_000

export const operatorQueries = {
  health: (api: Reader) =>
    queryOptions({
      queryKey: ['operator', 'health'],
      queryFn: async ({ signal }) => (await api.get('/admin/health', { signal })).data,
      refetchInterval: HEALTH_REFRESH_MS,
    }),
  /** Read anew on each page. */
  tasks: (api: Reader, page: string) =>
    queryOptions({
      queryKey: ['operator', 'tasks', page],
      queryFn: async ({ signal }) => (await api.get('/admin/tasks', { signal })).data,
      placeholderData: keepPreviousData,
      refetchInterval: TASKS_REFRESH_MS,
    }),
  invitations: (api: Reader) =>
    queryOptions({
      queryKey: ['operator', 'invitations'],
      queryFn: async ({ signal }) => (await api.get('/admin/invitations', { signal })).data,
    }),
  bankMoney: (api: Reader, id: string) =>
    queryOptions({
      queryKey: ['operator', 'bank money', id],
      queryFn: async ({ signal }) =>
        (await api.get('/admin/banks/[id]/balance', { params: { id }, signal })).data,
      staleTime: MONEY_REFRESH_MS,
      refetchInterval: MONEY_REFRESH_MS,
      retry: false,
    }),
  bankTrial: (api: Reader, id: string) =>
    queryOptions({
      queryKey: ['operator', 'bank trial', id],
      queryFn: async ({ signal }) =>
        (await api.get('/admin/banks/[id]/trial', { params: { id }, signal })).data,
      refetchInterval: ({ state }) =>
        state.data?.latest?.status === 'running' ? TRIAL_REFRESH_MS : false,
    }),
}
