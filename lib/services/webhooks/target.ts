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

export type Resolve = (hostname: string) => Promise<{ address: string; family: number }[]>

/** Where one post may go: the URL as it was read, and the checked addresses to connect to. */
export interface Target {
  url: URL
  addresses: Address[]
}

interface Refusal {
  problem: string
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
  const problem = url ? problemOf(url, mode) : 'The address of the webhook is not a URL'
  if (!url || problem) return { problem: problem ?? '' }
  const name = nameOf(url)
  const literal = isIP(name) !== 0
  const found = literal ? [{ address: name }] : await answerOf(name, resolve)
  if (found.length === 0) {
    return { problem: `The name ${name} could not be found: check its spelling and its DNS` }
  }
  const allowed = allowedRanges()
  for (const { address } of found) {
    const denial = denialOf(address, allowed)
    const whose = literal ? `The address ${name}` : `The address of ${name}`
    if (denial) return { problem: `${whose} is ${denial}: webhooks go to public addresses only` }
  }
  const addresses = found.flatMap(({ address }) => {
    const read = readAddress(address)
    return read ? [{ address: read.address, family: read.family }] : []
  })
  if (portOf(url) === env().PORT && addresses.some(ownRanges().has)) return { problem: SELF }
  return { url, addresses: addresses.slice(0, ADDRESSES_MAX) }
}

const SELF = 'The webhook leads back to this gateway: give the address of your own server'

/** The host of a URL without the brackets of IPv6 and without the dot that may end a name. */
export function nameOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
}

export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port)
  return url.protocol === 'https:' ? 443 : 80
}

function problemOf(url: URL, mode: Mode): string | null {
  if (!/^https?:$/.test(url.protocol)) return 'The webhook must be an http or https address'
  if (mode === 'live' && url.protocol !== 'https:') {
    return 'The webhook must be an https address in live mode'
  }
  if (url.username || url.password) {
    return 'The webhook must not hold a user name or password: check our signature instead'
  }
  const port = portOf(url)
  if (port < 1024 && port !== 80 && port !== 443) {
    return `The webhook must not go to port ${port}: use 443, 80 or one from 1024`
  }
  if (INTERNAL_PORTS.has(port)) {
    return `The webhook must not go to port ${port}, which belongs to another service: use 443`
  }
  return isGateway(url) ? SELF : null
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
