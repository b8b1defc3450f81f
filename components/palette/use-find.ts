'use client'

import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useApi } from '#components/form/api.ts'
import type { Hit } from '#lib/views/dashboard/schema.ts'

/** Wait after the last keystroke: earlier results would be replaced before anyone reads them. */
const DEBOUNCE_MS = 160
const QUERY_LENGTH_MIN = 2
/** Matches a pasted token. Only its start is sent, because servers and proxies log URLs. */
const TOKEN_PATTERN = /^(troco_(?:test|live)_\w{9})\w+$/

export interface FindState {
  /** Results for the current text; null until they arrive. */
  hits: Hit[] | null
  isSearching: boolean
  error: Error | null
}

export function useFind(typed: string): FindState {
  const api = useApi()
  const text = typed.trim().replace(TOKEN_PATTERN, '$1')
  const debounced = useDebounced(text)
  const isLongEnough = text.length >= QUERY_LENGTH_MIN
  const { data, error } = useQuery({
    queryKey: ['find', api.scope, debounced],
    queryFn: async ({ signal }) => {
      const path = `/dashboard/find?q=${encodeURIComponent(debounced)}`
      return (await api.get<{ data: Hit[] }>(path, signal)).data
    },
    enabled: debounced.length >= QUERY_LENGTH_MIN,
    staleTime: 5_000,
  })
  const isCurrent = isLongEnough && debounced === text
  const hits = isCurrent ? (data ?? null) : null
  const failure = isCurrent && !hits ? error : null
  return { hits, isSearching: isLongEnough && !hits && !failure, error: failure }
}

function useDebounced(text: string): string {
  const [debounced, setDebounced] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(text), DEBOUNCE_MS)
    return () => clearTimeout(timer)
  }, [text])
  return debounced
}
