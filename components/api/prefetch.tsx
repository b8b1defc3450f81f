import type { DataTag, QueryKey } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { createApi, type Reader } from '#components/api/client.ts'
import { Hydration, type Seed } from '#components/api/hydration.tsx'
import type { Mode } from '#lib/core/mode.ts'

/** Names what a page has read itself as the first data of a query: the type of its response. */
export function seed<Data>(
  { queryKey }: { queryKey: DataTag<QueryKey, Data, Error> },
  data: NoInfer<Data>,
): Seed {
  return [queryKey, data]
}

/** Names the queries of a page as its client does. */
export function readerFor(
  mode: Mode,
  user: { id: string },
  account: { id: string } | null,
): Reader {
  return createApi({ mode, userId: user.id, accountId: account?.id ?? null })
}

interface PrefetchedProps {
  seeds: Seed[]
  children: ReactNode
}

/** Gives the queries of its children their first data, so that no request follows the page. */
export function Prefetched({ seeds, children }: PrefetchedProps) {
  return (
    <Hydration at={Date.now()} seeds={seeds}>
      {children}
    </Hydration>
  )
}
