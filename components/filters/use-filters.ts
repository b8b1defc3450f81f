'use client'

import { useQuery } from '@tanstack/react-query'
import { usePathname, useRouter, useSearchParams } from 'next/navigation'
import { useTransition } from 'react'
import { useApi } from '#components/form/api.ts'

/** Stores the filters of a list in the URL, so that a filtered list can be shared. */
export function useFilters() {
  const router = useRouter()
  const path = usePathname()
  const searchParams = useSearchParams()
  const [isPending, startTransition] = useTransition()
  function set(changes: Record<string, string | null>, shouldReplace = false) {
    const next = new URLSearchParams(searchParams)
    // A changed filter starts at the first page.
    next.delete('cursor')
    for (const [name, value] of Object.entries(changes)) {
      if (value) next.set(name, value)
      else next.delete(name)
    }
    const query = next.toString()
    const href = query ? `${path}?${query}` : path
    startTransition(() => router[shouldReplace ? 'replace' : 'push'](href, { scroll: false }))
  }
  return { get: (name: string) => searchParams.get(name) ?? '', set, isPending }
}

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
