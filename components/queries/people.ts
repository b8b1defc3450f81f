import { queryOptions } from '@tanstack/react-query'
import type { Reader } from '#components/api/client.ts'

export const memberQueries = {
  list: (api: Reader) =>
    queryOptions({
      queryKey: ['members', api.scope, 'list'],
      queryFn: async ({ signal }) => (await api.get('/dashboard/members', { signal })).data,
    }),
  /** A stale list would be refused: it is read whenever a dialog opens. */
  tokens: (api: Reader, id: string) =>
    queryOptions({
      queryKey: ['members', api.scope, 'tokens', id],
      queryFn: async ({ signal }) =>
        (await api.get('/dashboard/members/[id]/tokens', { params: { id }, signal })).data,
      gcTime: 0,
    }),
}

export const tokenQueries = {
  list: (api: Reader) =>
    queryOptions({
      queryKey: ['tokens', api.scope],
      queryFn: async ({ signal }) => (await api.get('/tokens', { signal })).data,
    }),
}

/** Queries of the signed-in user. */
export const personQueries = {
  devices: (api: Reader) =>
    queryOptions({
      queryKey: ['person', api.scope.userId, 'devices'],
      queryFn: async ({ signal }) => (await api.get('/person/sessions', { signal })).data,
    }),
  /** Never cached, because factors may have been added or removed meanwhile. */
  proofMethods: (api: Reader) =>
    queryOptions({
      queryKey: ['person', api.scope.userId, 'proof methods'],
      queryFn: async ({ signal }) => (await api.get('/person/proof', { signal })).data.methods,
      gcTime: 0,
      staleTime: 0,
    }),
}
