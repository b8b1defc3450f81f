'use client'

import { usePathname, useRouter, useSearchParams } from 'next/navigation'
import { useTransition } from 'react'

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
