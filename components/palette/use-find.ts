'use client'

import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { useApi } from '#components/form/api.ts'
import type { Api } from '#lib/core/call-api.ts'
import type { Hit } from '#lib/dashboard/schema.ts'
import type { FoundAccount } from '#lib/operator/schema.ts'

/** Wait after the last keystroke: earlier results would be replaced before anyone reads them. */
const DEBOUNCE_MS = 160
const QUERY_LENGTH_MIN = 2
/** A pasted code is longer, and is no account's. */
const ACCOUNT_QUERY_MAX = 255
/** Matches a pasted token. Only its start is sent, because servers and proxies log URLs. */
const TOKEN_PATTERN = /^(troco_(?:test|live)_\w{9})\w+$/

export interface FindState {
  /** Results for the current text; null until they arrive. */
  hits: Hit[] | null
  isSearching: boolean
  error: Error | null
}

export function useFind(typed: string, isAdmin: boolean): FindState {
  const { accountId } = useApi().scope
  const text = typed.trim().replace(TOKEN_PATTERN, '$1')
  const debounced = useDebounced(text)
  const isLongEnough = text.length >= QUERY_LENGTH_MIN
  const own = useHits('find', debounced, accountId !== null, readHits)
  const accounts = useHits('find accounts', debounced, isAdmin, readAccountHits)
  const isLoaded = own.isLoaded && accounts.isLoaded
  const found = useMemo(
    () => (isLoaded ? [...accounts.hits, ...own.hits] : null),
    [isLoaded, accounts.hits, own.hits],
  )
  const isCurrent = isLongEnough && debounced === text
  const hits = isCurrent ? found : null
  const failure = isCurrent && !hits ? (own.error ?? accounts.error) : null
  return { hits, isSearching: isLongEnough && !hits && !failure, error: failure }
}

type ReadHits = (api: Api, query: string, signal: AbortSignal) => Promise<Hit[]>

async function readHits(api: Api, query: string, signal: AbortSignal): Promise<Hit[]> {
  return (await api.get<{ data: Hit[] }>(`/dashboard/find?q=${encodeURIComponent(query)}`, signal))
    .data
}

async function readAccountHits(api: Api, query: string, signal: AbortSignal): Promise<Hit[]> {
  const path = `/admin/accounts?q=${encodeURIComponent(query.slice(0, ACCOUNT_QUERY_MAX))}`
  const { data } = await api.get<{ data: FoundAccount[] }>(path, signal)
  return data.map(({ id, name, status, owner_email: detail }) => ({
    ...{ kind: 'account', id, label: name, detail, status: `account_${status}`, amount: null },
    ...{ href: `/admin/accounts/${id}`, isExact: false },
  }))
}

const NO_HITS: Hit[] = []

/** A search that is not enabled finds nothing, at once. */
function useHits(key: string, text: string, isEnabled: boolean, read: ReadHits) {
  const api = useApi()
  const { data, error } = useQuery({
    queryKey: [key, api.scope, text],
    queryFn: ({ signal }) => read(api, text, signal),
    enabled: isEnabled && text.length >= QUERY_LENGTH_MIN,
    staleTime: 5_000,
  })
  return { hits: data ?? NO_HITS, isLoaded: !isEnabled || data !== undefined, error }
}

function useDebounced(text: string): string {
  const [debounced, setDebounced] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(text), DEBOUNCE_MS)
    return () => clearTimeout(timer)
  }, [text])
  return debounced
}
