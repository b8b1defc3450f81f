'use client'

import { useQuery } from '@tanstack/react-query'
import { useApi } from '#components/nav/api-provider.tsx'

export interface ListPage<Row> {
  data: Row[]
  next_cursor: string | null
}

/** Returns one page of a list, refetched every `everyMs` while one of its rows is pending. */
export function useLivePage<Row extends { status: string }>(
  path: string,
  initialData: ListPage<Row>,
  everyMs: number,
) {
  const api = useApi()
  return useQuery({
    queryKey: ['page', api.scope, path],
    queryFn: ({ signal }) => api.get<ListPage<Row>>(path, signal),
    initialData,
    refetchInterval: ({ state }) =>
      state.data?.data.some(({ status }) => status === 'pending') ? everyMs : false,
  })
}
