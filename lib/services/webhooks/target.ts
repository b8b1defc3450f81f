import { isIP } from 'node:net'
import { type Address, findDeniedClass, hostnameOf, parseAddress } from '#lib/base/addresses.ts'
import { env } from '#lib/base/env.ts'
import type { Mode } from '#lib/base/mode.ts'
import { allowedRanges, ownRanges } from '#lib/services/webhooks/address.ts'
import { findOwnAddresses } from '#lib/services/webhooks/own-addresses.ts'
import type { CodeWithoutParams, Problem } from '#lib/services/webhooks/problem.ts'
import {
  type ResolveName,
  resolveInTime,
  resolveName,
} from '#lib/services/webhooks/resolve-name.ts'

/** Checked destination: the parsed URL and its allowed addresses. */
export interface Target {
  url: URL
  addresses: Address[]
}

interface Refusal {
  problem: Problem
}

/** Maximum addresses: they share the connect timeout, and more would get no time. */
const ADDRESSES_MAX = 16

/** Ports of internal services, often without password. 9000 and 9090 are too common elsewhere. */
const INTERNAL_PORTS = new Set([
  ...[1433, 1521, 3306, 5432, 5433, 6432, 26_257, 27_017, 27_018, 27_019],
  ...[5984, 9042, 9200, 9300, 6379, 6380, 11_211, 26_379, 2181, 5672, 9092, 15_672],
  ...[2375, 2376, 2377, 2379, 2380, 6443, 8500, 10_250, 10_255],
])

/**
 * Resolves the name once for both check and connection; every address must be allowed. A refusal
 * reveals only the class of an address.
 */
export async function findTarget(
  text: string,
  mode: Mode,
  resolve: ResolveName = resolveName,
): Promise<Target | Refusal> {
  const url = URL.parse(text)
  if (!url) return createRefusal('not_a_url')
  const problem = findUrlProblem(url, mode)
  if (problem) return { problem }
  const name = hostnameOf(url)
  const isLiteral = isIP(name) !== 0
  const resolved = isLiteral ? [{ address: name }] : await resolveInTime(name, resolve)
  if (resolved.length === 0) return { problem: { code: 'name_unknown', params: { name } } }
  const allowed = allowedRanges()
  for (const { address } of resolved) {
    const range = findDeniedClass(address, allowed)
    if (!range) continue
    return isLiteral
      ? { problem: { code: 'address_denied', params: { address: name, range } } }
      : { problem: { code: 'name_denied', params: { name, range } } }
  }
  const addresses = resolved.flatMap(({ address }) => {
    const parsed = parseAddress(address)
    return parsed ? [{ address: parsed.address, family: parsed.family }] : []
  })
  if (await isOwn(addresses, resolve)) return createRefusal('leads_back')
  if (portOf(url) === env().PORT && addresses.some(ownRanges().has))
    return createRefusal('leads_back')
  return { url, addresses: addresses.slice(0, ADDRESSES_MAX) }
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

function createRefusal(code: CodeWithoutParams): Refusal {
  return { problem: { code, params: {} } }
}

function findUrlProblem(url: URL, mode: Mode): Problem | null {
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
