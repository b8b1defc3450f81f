import { lookup, Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Address,
  createRangeList,
  findDeniedClass,
  hostnameOf,
  LOOPBACK,
  listInterfaceRanges,
  parseAddress,
  type RangeList,
} from '#lib/core/addresses.ts'
import type { Mode } from '#lib/core/mode.ts'
import { env } from '#lib/core/settings.ts'
import type { DeliveryProblem } from '#lib/webhooks/problem.ts'

/** Checked destination: the parsed URL and its allowed addresses. */
export interface Target {
  url: URL
  addresses: Address[]
}

interface Refusal {
  problem: DeliveryProblem
  /** Whether the address itself is refused; a fact for the operator only. */
  isAddressRefused: boolean
}

/** Maximum addresses: they share the connect timeout, and more would get no time. */
const ADDRESSES_MAX = 16

/** Ports of internal services, often without password. 9000 and 9090 are too common elsewhere. */
const INTERNAL_PORTS = new Set([
  1433, 1521, 3306, 5432, 5433, 6432, 26_257, 27_017, 27_018, 27_019, 5984, 9042, 9200, 9300, 6379,
  6380, 11_211, 26_379, 2181, 5672, 9092, 15_672, 2375, 2376, 2377, 2379, 2380, 6443, 8500, 10_250,
  10_255,
])

/**
 * Time of a refused name is rounded up to this: an unknown name is asked about twice, one with a
 * private address once, and a merchant must not see the difference.
 */
const REFUSED_NAME_STEP_MS = 1_000

/**
 * Resolves the name once for both check and connection; every address must be allowed. A name that is
 * unknown and one that leads to a refused address are the same problem after the same time.
 */
export async function findTarget(
  text: string,
  mode: Mode,
  resolve: ResolveName = resolveName,
): Promise<Target | Refusal> {
  const url = URL.parse(text)
  if (!url) return { problem: { code: 'not_a_url', params: {} }, isAddressRefused: false }
  const problem = findUrlProblem(url, mode)
  if (problem) return { problem, isAddressRefused: problem.code === 'leads_back' }
  const name = hostnameOf(url)
  // Every machine resolves localhost to itself, so this name reveals nothing.
  const isLocalhost = /(^|\.)localhost$/.test(name)
  if (isIP(name) || isLocalhost) {
    const resolved = isIP(name) ? [{ address: name }] : await resolveInTime(name, resolve)
    const refused = await findAddressProblem(url, resolved, resolve)
    return refused ? { problem: refused, isAddressRefused: true } : targetOf(url, resolved)
  }
  const startedAt = performance.now()
  const resolved = await resolveInTime(name, resolve)
  const refused = await findAddressProblem(url, resolved, resolve)
  if (resolved.length > 0 && !refused) return targetOf(url, resolved)
  const tookMs = performance.now() - startedAt
  await sleep(REFUSED_NAME_STEP_MS - (tookMs % REFUSED_NAME_STEP_MS))
  const unusable: DeliveryProblem = { code: 'name_unknown', params: { name } }
  return { problem: unusable, isAddressRefused: resolved.length > 0 }
}

function targetOf(url: URL, resolved: { address: string }[]): Target {
  return { url, addresses: parseAll(resolved).slice(0, ADDRESSES_MAX) }
}

async function findAddressProblem(
  url: URL,
  resolved: { address: string }[],
  resolve: ResolveName,
): Promise<DeliveryProblem | null> {
  const allowed = allowedRanges()
  for (const { address } of resolved) {
    const range = findDeniedClass(address, allowed)
    if (range) return { code: 'address_denied', params: { address: hostnameOf(url), range } }
  }
  const addresses = parseAll(resolved)
  const isPortOfTroco = portOf(url) === env().PORT && addresses.some(ownRanges().has)
  const leadsBack = isPortOfTroco || (await isOwn(addresses, resolve))
  return leadsBack ? { code: 'leads_back', params: {} } : null
}

function parseAll(resolved: { address: string }[]): Address[] {
  return resolved.flatMap(({ address }) => {
    const parsed = parseAddress(address)
    return parsed ? [{ address: parsed.address, family: parsed.family }] : []
  })
}

/** Returns whether an address belongs to this installation and WEBHOOK_ALLOW_CIDRS lacks it. */
export async function isOwn(
  addresses: Address[],
  resolve: ResolveName = resolveName,
): Promise<boolean> {
  const allowed = allowedRanges()
  const closed = addresses.filter(address => !allowed.has(address))
  if (closed.length === 0) return false
  const own = await findOwnAddresses(hostnameOf(new URL(env().PUBLIC_URL)), resolve)
  return closed.some(own.has)
}

/** Returns the host of a webhook URL: concurrent calls are limited per host. */
export function hostOf(url: string): string
export function hostOf(url: string | undefined): string | null
export function hostOf(url: string | undefined): string | null {
  return url === undefined ? null : hostnameOf(new URL(url))
}

export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port)
  return url.protocol === 'https:' ? 443 : 80
}

/** Returns what is wrong with the URL by itself, without its name being resolved. */
export function findUrlProblem(url: URL, mode: Mode): DeliveryProblem | null {
  if (!/^https?:$/.test(url.protocol)) return { code: 'not_web', params: {} }
  if (mode === 'live' && url.protocol !== 'https:') return { code: 'https_required', params: {} }
  if (url.username || url.password) return { code: 'credentials', params: {} }
  const port = portOf(url)
  if (port < 1024 && port !== 80 && port !== 443) {
    return { code: 'port_low', params: { port } }
  }
  if (INTERNAL_PORTS.has(port)) return { code: 'port_internal', params: { port } }
  return isGateway(url) ? { code: 'leads_back', params: {} } : null
}

/** Without explicit ports, 80 and 443 count as equal: a proxy serves the gateway on both. */
function isGateway(url: URL): boolean {
  const own = new URL(env().PUBLIC_URL)
  if (hostnameOf(own) !== hostnameOf(url)) return false
  return portOf(own) === portOf(url) || (own.port === '' && url.port === '')
}

/** Returns the ranges of WEBHOOK_ALLOW_CIDRS. Default: none; locally, this machine's addresses. */
export function allowedRanges(): RangeList {
  const { WEBHOOK_ALLOW_CIDRS = '', TROCO_ENV } = env()
  const key = `${TROCO_ENV} ${WEBHOOK_ALLOW_CIDRS}`
  if (cachedRanges?.key === key && performance.now() < cachedRanges.until)
    return cachedRanges.ranges
  const own = TROCO_ENV === 'local' ? [...LOOPBACK, ...listInterfaceRanges()] : []
  const ranges = createRangeList(WEBHOOK_ALLOW_CIDRS ? WEBHOOK_ALLOW_CIDRS.split(',') : own)
  cachedRanges = { key, until: performance.now() + RANGES_CACHE_MS, ranges }
  return ranges
}

/** Cache lifetime: listing interfaces costs as much as a loopback call. */
const RANGES_CACHE_MS = 5_000
let cachedRanges: { key: string; until: number; ranges: RangeList } | undefined

function ownRanges(): RangeList {
  return createRangeList([...LOOPBACK, '0.0.0.0/8', '::/128', ...listInterfaceRanges()])
}

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
function findOwnAddresses(publicName: string, resolve: ResolveName): Promise<RangeList> {
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

export type ResolveName = (hostname: string) => Promise<{ address: string; family: number }[]>

const RESOLVE_MS = 5_000
/** Two attempts of 2 s fit within the 5 s limit of a name resolution. */
const defaultResolver = new Resolver({ timeout: 2_000, tries: 2 })
const UNKNOWN_NAME_CODES = /^(ENOTFOUND|ENODATA)$/

/**
 * Queries DNS servers directly: the system resolver blocks a thread per query, so two slow names
 * could delay all webhooks. Names unknown to DNS (the hosts file) go to the system resolver.
 */
export async function resolveName(
  hostname: string,
  resolver: Pick<Resolver, 'resolve4' | 'resolve6'> = defaultResolver,
): Promise<{ address: string; family: number }[]> {
  if (/(^|\.)localhost$/i.test(hostname)) return lookup(hostname, { all: true, verbatim: true })
  const results = await Promise.allSettled([
    resolver.resolve4(hostname),
    resolver.resolve6(hostname),
  ])
  const addresses = results.flatMap((result, index) =>
    result.status === 'fulfilled'
      ? result.value.map(address => ({ address, family: index === 0 ? 4 : 6 }))
      : [],
  )
  if (addresses.length > 0) return addresses
  const failures = results.filter(result => result.status === 'rejected')
  const isUnknown = failures.every(({ reason }) => UNKNOWN_NAME_CODES.test(reason.code))
  if (isUnknown) return lookup(hostname, { all: true, verbatim: true })
  throw failures[0]?.reason
}

/** Resolves a name; empty if it is unknown or not resolved within 5 s. */
async function resolveInTime(name: string, resolve: ResolveName): Promise<{ address: string }[]> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<[]>(done => {
    timer = setTimeout(() => done([]), RESOLVE_MS)
  })
  try {
    return await Promise.race([resolve(name), timeout])
  } catch {
    return []
  } finally {
    clearTimeout(timer)
  }
}
