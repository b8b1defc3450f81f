'use client'

import { type QueryKey, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect, useMemo } from 'react'

export type Seed = [QueryKey, unknown]

interface HydrationProps {
  /** When the page was read, by the server's clock. */
  at: number
  seeds: Seed[]
  children: ReactNode
}

/** This clock minus the server's. A page that is shown again from a cache only seems to be late. */
let clockOffset = Number.POSITIVE_INFINITY

/**
 * Data of a page replaces older data of the same query, and newer data stays: going back is no step back.
 * TanStack's `HydrationBoundary` would do this too, and weighs more than the page of a list may.
 */
export function Hydration({ at, seeds, children }: HydrationProps) {
  const client = useQueryClient()
  // Before the children read it; what other parts of the page show changes only after rendering.
  const updatedAt = useMemo(() => {
    clockOffset = Math.min(clockOffset, Date.now() - at)
    const options = { updatedAt: at + clockOffset }
    for (const [key, data] of seeds)
      if (!client.getQueryState(key)) client.setQueryData(key, data, options)
    return options.updatedAt
  }, [client, at, seeds])
  useEffect(() => {
    for (const [key, data] of seeds) {
      const heldAt = client.getQueryState(key)?.dataUpdatedAt ?? 0
      if (heldAt < updatedAt) client.setQueryData(key, data, { updatedAt })
    }
  }, [client, seeds, updatedAt])
  return children
}
