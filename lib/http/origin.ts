import { isIP } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import { refuse } from '#lib/core/errors.ts'
import { env } from '#lib/core/settings.ts'
import type { HttpRequest } from '#lib/http/exchange.ts'

/** Refuses a write from a page of another site, by Origin and, if present, Sec-Fetch-Site. */
export function requireSameOrigin({ header }: Pick<HttpRequest, 'header'>): void {
  const site = header('sec-fetch-site') ?? 'same-origin'
  if (site === 'same-origin' && isOwnOrigin(header('origin'))) return
  throw refuse('cross_origin')
}

/** The origin must be that of PUBLIC_URL. Request headers such as Host have no effect. */
function isOwnOrigin(origin: string | null): boolean {
  const originUrl = URL.parse(origin ?? '')
  const publicUrl = new URL(env().PUBLIC_URL)
  if (!originUrl) return false
  if (originUrl.origin === publicUrl.origin) return true
  // In local use, the browser may open this machine under any of its names and addresses.
  const hasSameProtocolAndPort =
    originUrl.protocol === publicUrl.protocol && originUrl.port === publicUrl.port
  return env().TROCO_ENV === 'local' && hasSameProtocolAndPort && isThisMachine(originUrl.hostname)
}

function isThisMachine(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '')
  if (!isIP(name)) return ['localhost', hostname().toLowerCase()].includes(name)
  const addresses = Object.values(networkInterfaces()).flatMap(list => list ?? [])
  return name.startsWith('127.') || addresses.some(({ address }) => address === name)
}
