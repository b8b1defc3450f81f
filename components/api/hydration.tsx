'use client'

import {
  type DehydratedState,
  HydrationBoundary,
  hashKey,
  type QueryKey,
} from '@tanstack/react-query'
import { type ReactNode, useMemo } from 'react'

export type Seed = [QueryKey, unknown]

interface HydrationProps {
  /** When the page was read, by the server's clock. */
  at: number
  seeds: Seed[]
  children: ReactNode
}

/** This clock minus the server's. A page that is shown again from a cache only seems to be late. */
let clockOffset = Number.POSITIVE_INFINITY

/** Data of a page replaces older data of the same query, and newer data stays: going back is no step back. */
export function Hydration({ at, seeds, children }: HydrationProps) {
  const state = useMemo((): DehydratedState => {
    clockOffset = Math.min(clockOffset, Date.now() - at)
    const queries = seeds.map(([queryKey, data]) => ({
      queryKey,
      queryHash: hashKey(queryKey),
      dehydratedAt: at + clockOffset,
      state: {
        data,
        dataUpdatedAt: at + clockOffset,
        dataUpdateCount: 1,
        status: 'success' as const,
        fetchStatus: 'idle' as const,
        error: null,
        errorUpdateCount: 0,
        errorUpdatedAt: 0,
        fetchFailureCount: 0,
        fetchFailureReason: null,
        fetchMeta: null,
        isInvalidated: false,
      },
    }))
    return { mutations: [], queries }
  }, [at, seeds])
  return <HydrationBoundary state={state}>{children}</HydrationBoundary>
}
