import { usePathname, useRouter, useSearchParams } from 'next/navigation'
import { useTransition } from 'react'
import type { PathOf, QueryOf } from '#components/api/routes.ts'

/** Parameters of the period in a page's URL; the endpoint takes `created_from` and `created_to`. */
export type PeriodName = 'period' | 'from' | 'to'

type NotInUrl = 'limit' | 'cursor' | 'created_from' | 'created_to'

/** The filters of a list in the URL of its page: the parameters of its endpoint. */
export type FilterName<Path extends PathOf<'GET'>> =
  | Exclude<keyof QueryOf<Path> & string, NotInUrl>
  | PeriodName

export interface Filters<Name extends string> {
  /** '' if the filter is not set. */
  get: (name: Name) => string
  set: (changes: Changes<Name>, shouldReplace?: boolean) => void
  /** Removes all filters, and sets others in their place. */
  clear: (changes?: Changes<Name>) => void
  isSet: boolean
  isPending: boolean
}

type Changes<Name extends string> = Partial<Record<Name, string | null>>

/**
 * Stores the filters of a list in the URL, so that a filtered list can be shared. Every parameter but the
 * cursor and those of the page itself is a filter.
 */
export function useFilters<Name extends string>(...pageParameters: string[]): Filters<Name> {
  const router = useRouter()
  const path = usePathname()
  const searchParams = useSearchParams()
  const [isPending, startTransition] = useTransition()
  function set(changes: Record<string, string | null | undefined>, shouldReplace = false) {
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
  const get = (name: string) => searchParams.get(name) ?? ''
  const names = [...searchParams.keys()].filter(
    name => !['cursor', ...pageParameters].includes(name),
  )
  const isSet = names.some(name => get(name) !== '')
  const clear = (changes: Changes<Name> = {}) =>
    set({ ...Object.fromEntries(names.map(name => [name, null])), ...changes })
  return { get, set, clear, isSet, isPending }
}
