'use client'

import { useQuery } from '@tanstack/react-query'
import { useApi } from '#components/form/api.ts'

export interface ListPage<Row> {
  data: Row[]
  next_cursor: string | null
}

/** Reads one page of a list. Refetches at the given interval while a row is pending. */
export function useLivePage<Row extends { status: string }>(
  path: string,
  initialData: ListPage<Row>,
  pollIntervalMs: number,
) {
  const api = useApi()
  return useQuery({
    queryKey: ['page', api.scope, path],
    queryFn: ({ signal }) => api.get<ListPage<Row>>(path, signal),
    initialData,
    refetchInterval: ({ state }) =>
      state.data?.data.some(({ status }) => status === 'pending') ? pollIntervalMs : false,
  })
}
