import { isIP } from 'node:net'
import { env } from '#lib/base/env.ts'
import type { Mode } from '#lib/base/mode.ts'
import {
  type Address,
  allowedRanges,
  denialOf,
  ownRanges,
  readAddress,
} from '#lib/services/webhooks/address.ts'
import { resolveName } from '#lib/services/webhooks/name.ts'
import type { BareCode, Problem } from '#lib/services/webhooks/problem.ts'

export type Resolve = (hostname: string) => Promise<{ address: string; family: number }[]>

/** Where one post may go: the URL as it was read, and the checked addresses to connect to. */
export interface Target {
  url: URL
  addresses: Address[]
}

interface Refusal {
  problem: Problem
}

const RESOLVE_MS = 5_000
/** Tried one after the other within the time to connect, more would never have their turn. */
const ADDRESSES_MAX = 16

/**
 * Databases, caches, queues and control planes that obey whoever reaches them, often without a
 * password. Ports that people also give to programs of their own (9000, 9090) are not among them.
 */
const INTERNAL_PORTS = new Set([
  ...[1433, 1521, 3306, 5432, 5433, 6432, 26_257, 27_017, 27_018, 27_019],
  ...[5984, 9042, 9200, 9300, 6379, 6380, 11_211, 26_379, 2181, 5672, 9092, 15_672],
  ...[2375, 2376, 2377, 2379, 2380, 6443, 8500, 10_250, 10_255],
])

/**
 * Reads the URL once for check and client, resolves its name once, and asks that every address
 * of the answer may be called. A refusal says what to do, and of an address only its class.
 */
export async function findTarget(
  text: string,
  mode: Mode,
  resolve: Resolve = resolveName,
): Promise<Target | Refusal> {
  const url = URL.parse(text)
  if (!url) return refuse('not_a_url')
  const problem = problemOf(url, mode)
  if (problem) return { problem }
  const name = nameOf(url)
  const literal = isIP(name) !== 0
  const found = literal ? [{ address: name }] : await answerOf(name, resolve)
  if (found.length === 0) return { problem: { code: 'name_unknown', params: { name } } }
  const allowed = allowedRanges()
  for (const { address } of found) {
    const range = denialOf(address, allowed)
    if (!range) continue
    return literal
      ? { problem: { code: 'address_denied', params: { address: name, range } } }
      : { problem: { code: 'name_denied', params: { name, range } } }
  }
  const addresses = found.flatMap(({ address }) => {
    const read = readAddress(address)
    return read ? [{ address: read.address, family: read.family }] : []
  })
  if (portOf(url) === env().PORT && addresses.some(ownRanges().has)) return refuse('leads_back')
  return { url, addresses: addresses.slice(0, ADDRESSES_MAX) }
}

/** The host of a URL without the brackets of IPv6 and without the dot that may end a name. */
export function nameOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
}

export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port)
  return url.protocol === 'https:' ? 443 : 80
}

function refuse(code: BareCode): Refusal {
  return { problem: { code, params: {} } }
}

function problemOf(url: URL, mode: Mode): Problem | null {
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

/** Behind a proxy on the usual ports the gateway has both of them. */
function isGateway(url: URL): boolean {
  const own = new URL(env().PUBLIC_URL)
  if (nameOf(own) !== nameOf(url)) return false
  return portOf(own) === portOf(url) || (own.port === '' && url.port === '')
}

async function answerOf(name: string, resolve: Resolve): Promise<{ address: string }[]> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<[]>(done => {
    timer = setTimeout(() => done([]), RESOLVE_MS)
  })
  try {
    return await Promise.race([resolve(name), late])
  } catch {
    return []
  } finally {
    clearTimeout(timer)
  }
}
