import { randomBytes, randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { ADDRESS_HEADER, PATH_HEADER, REQUEST_ID_HEADER, ROUTE_HEADER } from '#lib/core/headers.ts'
import { env } from '#lib/core/settings.ts'

/**
 * Headers that only a trusted proxy or Next itself may set, and those of range requests: Next
 * responds 500 to a range outside of the file, and a server may ignore ranges.
 */
const RESERVED_HEADERS =
  /^(range$|if-range$|x-troco-|x-forwarded-|x-real-ip$|forwarded$|x-middleware-|x-nonce$|content-security-policy$)/
/** Pages send these to Next. They are removed from API requests, which Next would redirect. */
const PAGE_HEADERS = /^(rsc$|next-|x-next)/
/** Next's crawler detection is quadratic: 11 s for 30,000 characters. Browsers send hundreds. */
const USER_AGENT_MAX = 1_000
/**
 * Longest header that Next gets. The front has sized cookies and checked the router state before. Endpoints
 * refuse a longer key: without it, a repeated request would act twice.
 */
const HEADER_LENGTH_MAX = 2_048
const SIZED_HEADERS = ['cookie', 'next-router-state-tree', 'user-agent', 'idempotency-key']
const SAFE_ID = /^[\w.:-]{1,64}$/

export interface Sender {
  address: string
  requestId: string
}

export function identifySender({ headers, socket }: IncomingMessage, trustedHops: number): Sender {
  const requestedId = headers[REQUEST_ID_HEADER]
  const requestId =
    typeof requestedId === 'string' && SAFE_ID.test(requestedId) ? requestedId : randomUUID()
  const socketAddress = socket.remoteAddress ?? ''
  if (trustedHops === 0) return { requestId, address: stripMappedPrefix(socketAddress) }
  const forwardedFor = [headers['x-forwarded-for'] ?? ''].flat().join(',')
  return { requestId, address: clientIp(socketAddress, forwardedFor, trustedHops) }
}

/** Removes headers that a caller could forge and sets the front's own values, for Next. */
export function setTrustedHeaders(
  request: IncomingMessage,
  { address, requestId }: Sender,
  publicUrl: URL,
  isApi: boolean,
  route: string,
): void {
  const { headers } = request
  for (const name of Object.keys(headers)) {
    const isLong = String(headers[name]).length > HEADER_LENGTH_MAX && !SIZED_HEADERS.includes(name)
    if (isLong || RESERVED_HEADERS.test(name) || (isApi && PAGE_HEADERS.test(name)))
      delete headers[name]
  }
  const userAgent = headers['user-agent']
  if (userAgent) headers['user-agent'] = userAgent.slice(0, USER_AGENT_MAX)
  headers[ADDRESS_HEADER] = address
  headers[REQUEST_ID_HEADER] = requestId
  headers[ROUTE_HEADER] = route
  headers[PATH_HEADER] = request.url ?? '/'
  headers['x-forwarded-proto'] = publicUrl.protocol.slice(0, -1)
  syncRawHeaders(request)
}

/** Adds a policy with a nonce, which Next puts on its scripts, to the request, and returns it. */
export function addContentPolicy(request: IncomingMessage, isDevelopment: boolean): string {
  const nonce = randomBytes(16).toString('base64')
  const script = `'self' 'nonce-${nonce}' 'strict-dynamic'${isDevelopment ? " 'unsafe-eval'" : ''}`
  const policy = [
    "default-src 'self'",
    `script-src ${script}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    `connect-src 'self'${isDevelopment ? ' ws:' : ''}`,
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ')
  request.headers['content-security-policy'] = policy
  request.headers['x-nonce'] = nonce
  syncRawHeaders(request)
  return policy
}

const SECURITY_HEADERS: Record<string, string> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'strict-origin-when-cross-origin',
  'permissions-policy': [
    'camera=(), geolocation=(), microphone=(), payment=()',
    'publickey-credentials-create=(self), publickey-credentials-get=(self)',
  ].join(', '),
}
/** HSTS for two years, as hstspreload.org recommends; without `preload` and subdomains. */
const TLS_SECURITY_HEADERS = {
  ...SECURITY_HEADERS,
  'strict-transport-security': 'max-age=63072000',
}

/** Returns the headers of every response; over HTTPS they include Strict-Transport-Security. */
export function securityHeaders(): Record<string, string> {
  return env().PUBLIC_URL.startsWith('https:') ? TLS_SECURITY_HEADERS : SECURITY_HEADERS
}

// Some libraries read `rawHeaders` instead of `headers`, so both must be equal.
function syncRawHeaders(request: IncomingMessage): void {
  request.rawHeaders = Object.entries(request.headers).flatMap(([name, value]) =>
    [value ?? []].flat().flatMap(item => [name, item]),
  )
}

/**
 * Returns the socket's address or, behind `hops` trusted proxies, the address that the outermost
 * proxy saw. Addresses further left in X-Forwarded-For may be forged and are never read.
 */
export function clientIp(socketAddress: string, forwardedFor: string, hops: number): string {
  const chain = [
    ...forwardedFor.split(',').map(part => part.trim()),
    stripMappedPrefix(socketAddress),
  ]
  const clientAddress = stripMappedPrefix(chain.at(-1 - hops) ?? '')
  return isIP(clientAddress) ? clientAddress : stripMappedPrefix(socketAddress)
}

function stripMappedPrefix(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/, '')
}
