import { randomBytes, randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { env } from '#lib/base/env.ts'
import { ADDRESS_HEADER, PATH_HEADER, REQUEST_ID_HEADER } from '#lib/base/headers.ts'

/** What only a proxy that we believe, or Next's own inside, may say. */
const REFUSED =
  /^(x-troco-|x-forwarded-|x-real-ip$|forwarded$|x-middleware-|x-nonce$|content-security-policy$)/
/** What only our pages say to Next: of the API it would redirect whoever says it, to make it sure. */
const OF_PAGES = /^(rsc$|next-|x-next)/
const SAFE_ID = /^[\w.:-]{1,64}$/

/** Who sent a request, as far as the front believes it, and by which name it is in the log. */
export interface Sender {
  address: string
  requestId: string
}

export function senderOf({ headers, socket }: IncomingMessage, trustedHops: number): Sender {
  const claimed = headers[REQUEST_ID_HEADER]
  const requestId = typeof claimed === 'string' && SAFE_ID.test(claimed) ? claimed : randomUUID()
  const forwardedFor = [headers['x-forwarded-for'] ?? ''].flat().join(',')
  return { requestId, address: clientIp(socket.remoteAddress ?? '', forwardedFor, trustedHops) }
}

/** For Next: replaces what a caller claims about itself by what the front knows. */
export function settleHeaders(
  request: IncomingMessage,
  { address, requestId }: Sender,
  publicUrl: URL,
  isApi: boolean,
): void {
  const { headers } = request
  for (const name of Object.keys(headers)) {
    if (REFUSED.test(name) || (isApi && OF_PAGES.test(name))) delete headers[name]
  }
  headers[ADDRESS_HEADER] = address
  headers[REQUEST_ID_HEADER] = requestId
  headers[PATH_HEADER] = request.url ?? '/'
  headers['x-forwarded-proto'] = publicUrl.protocol.slice(0, -1)
  keepRawInStep(request)
}

/** Gives a page's request its nonce, which Next puts on its scripts, and returns the policy. */
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
  keepRawInStep(request)
  return policy
}

const PLAIN: Record<string, string> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'strict-origin-when-cross-origin',
  'permissions-policy': [
    'camera=(), geolocation=(), microphone=(), payment=()',
    'publickey-credentials-create=(self), publickey-credentials-get=(self)',
  ].join(', '),
}
/** Two years: what browsers ask for before they take a name to be always sure. */
const OVER_TLS = { ...PLAIN, 'strict-transport-security': 'max-age=63072000' }

/** What every answer says, whatever it is. A browser that once came by https stays with it. */
export function securityHeaders(): Record<string, string> {
  return env().PUBLIC_URL.startsWith('https:') ? OVER_TLS : PLAIN
}

// Some readers build their headers from the raw list, so both must say the same.
function keepRawInStep(request: IncomingMessage): void {
  request.rawHeaders = Object.entries(request.headers).flatMap(([name, value]) =>
    [value ?? []].flat().flatMap(one => [name, one]),
  )
}

/**
 * The caller's address: the socket's, or, behind `hops` proxies that are to be believed, the one
 * that the outermost of them saw. What a caller forges stands further left and is never read.
 */
export function clientIp(socketAddress: string, forwardedFor: string, hops: number): string {
  const chain = [...forwardedFor.split(',').map(part => part.trim()), plain(socketAddress)]
  const seen = plain(chain.at(-1 - hops) ?? '')
  return isIP(seen) ? seen : plain(socketAddress)
}

function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/, '')
}
