import { randomBytes, randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { env } from '#lib/base/env.ts'
import { ADDRESS_HEADER, PATH_HEADER, REQUEST_ID_HEADER } from '#lib/base/headers.ts'

/** Headers that only a trusted proxy or Next itself may set. */
const RESERVED_HEADERS =
  /^(x-troco-|x-forwarded-|x-real-ip$|forwarded$|x-middleware-|x-nonce$|content-security-policy$)/
/** Headers that only pages send to Next. On API requests they are removed: Next would redirect. */
const PAGE_HEADERS = /^(rsc$|next-|x-next)/
const SAFE_ID = /^[\w.:-]{1,64}$/

export interface Sender {
  address: string
  requestId: string
}

export function identifySender({ headers, socket }: IncomingMessage, trustedHops: number): Sender {
  const claimed = headers[REQUEST_ID_HEADER]
  const requestId = typeof claimed === 'string' && SAFE_ID.test(claimed) ? claimed : randomUUID()
  const forwardedFor = [headers['x-forwarded-for'] ?? ''].flat().join(',')
  return { requestId, address: clientIp(socket.remoteAddress ?? '', forwardedFor, trustedHops) }
}

/** For Next: replaces what the caller claims about itself by what the front knows. */
export function setTrustedHeaders(
  request: IncomingMessage,
  { address, requestId }: Sender,
  publicUrl: URL,
  isApi: boolean,
): void {
  const { headers } = request
  for (const name of Object.keys(headers)) {
    if (RESERVED_HEADERS.test(name) || (isApi && PAGE_HEADERS.test(name))) delete headers[name]
  }
  headers[ADDRESS_HEADER] = address
  headers[REQUEST_ID_HEADER] = requestId
  headers[PATH_HEADER] = request.url ?? '/'
  headers['x-forwarded-proto'] = publicUrl.protocol.slice(0, -1)
  syncRawHeaders(request)
}

/** Adds a nonce to a page's request, which Next puts on its scripts, and returns the policy. */
export function addContentPolicy(request: IncomingMessage, development: boolean): string {
  const nonce = randomBytes(16).toString('base64')
  const script = `'self' 'nonce-${nonce}' 'strict-dynamic'${development ? " 'unsafe-eval'" : ''}`
  const policy = [
    "default-src 'self'",
    `script-src ${script}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    `connect-src 'self'${development ? ' ws:' : ''}`,
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
/** Two years, as the preload lists of browsers ask for. */
const TLS_SECURITY_HEADERS = {
  ...SECURITY_HEADERS,
  'strict-transport-security': 'max-age=63072000',
}

/** Returns the headers of every response; over HTTPS they include Strict-Transport-Security. */
export function securityHeaders(): Record<string, string> {
  return env().PUBLIC_URL.startsWith('https:') ? TLS_SECURITY_HEADERS : SECURITY_HEADERS
}

// Some readers build their headers from the raw list, so both must be equal.
function syncRawHeaders(request: IncomingMessage): void {
  request.rawHeaders = Object.entries(request.headers).flatMap(([name, value]) =>
    [value ?? []].flat().flatMap(one => [name, one]),
  )
}

/**
 * Returns the socket's address or, behind `hops` trusted proxies, the one that the outermost of
 * them saw. Forged addresses are further left in the list and are never read.
 */
export function clientIp(socketAddress: string, forwardedFor: string, hops: number): string {
  const chain = [
    ...forwardedFor.split(',').map(part => part.trim()),
    stripMappedPrefix(socketAddress),
  ]
  const seen = stripMappedPrefix(chain.at(-1 - hops) ?? '')
  return isIP(seen) ? seen : stripMappedPrefix(socketAddress)
}

function stripMappedPrefix(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/, '')
}
