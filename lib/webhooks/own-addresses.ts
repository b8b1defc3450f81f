import { isIP } from 'node:net'
import {
  createRangeList,
  listInterfaceRanges,
  parseAddress,
  type RangeList,
} from '#lib/core/addresses.ts'
import { env } from '#lib/core/settings.ts'
import { type ResolveName, resolveInTime } from '#lib/webhooks/resolve-name.ts'

/** Lifetime of the list; a changed DNS record of PUBLIC_URL counts after it. */
const CACHE_MS = 60_000

interface Cached {
  key: string
  until: number
  /** Addresses of PUBLIC_URL, kept while its name cannot be resolved. */
  found: string[]
  ranges: Promise<RangeList>
}
const cache = new WeakMap<ResolveName, Cached>()

/** In production no webhook may reach these addresses: interfaces, PUBLIC_URL, OWN_ADDRESSES. */
export function findOwnAddresses(publicName: string, resolve: ResolveName): Promise<RangeList> {
  const { TROCO_ENV, OWN_ADDRESSES = '' } = env()
  if (TROCO_ENV !== 'production') return Promise.resolve(createRangeList([]))
  const key = `${publicName} ${OWN_ADDRESSES}`
  const last = cache.get(resolve)
  if (last?.key === key && performance.now() < last.until) return last.ranges
  const cached = { key, until: performance.now() + CACHE_MS, found: [] as string[] }
  const build = async () => {
    const now = isIP(publicName)
      ? [{ address: publicName }]
      : await resolveInTime(publicName, resolve)
    const addresses = now.flatMap(({ address }) => parseAddress(address)?.address ?? [])
    cached.found = addresses.length > 0 || last?.key !== key ? addresses : last.found
    const configured = OWN_ADDRESSES ? OWN_ADDRESSES.split(',') : []
    return createRangeList([...cached.found, ...configured, ...listInterfaceRanges()])
  }
  const ranges = build()
  cache.set(resolve, Object.assign(cached, { ranges }))
  return ranges
}
