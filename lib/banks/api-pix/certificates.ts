import { isIP, type LookupFunction, Socket } from 'node:net'
import { connect, createSecureContext, TLSSocket } from 'node:tls'
import type { Identity } from '#lib/banks/api-pix/credentials.ts'
import { codeOf, LIMITS } from '#lib/banks/api-pix/exchange.ts'
import { judge } from '#lib/banks/api-pix/outcomes.ts'
import { type BankFinding, find } from '#lib/banks/gateway.ts'
import { hostnameOf } from '#lib/core/addresses.ts'
import { Invariant } from '#lib/core/invariant.ts'

const DAY_MS = 86_400_000
/** Time that banks need to issue a certificate, with room for holidays. */
const EXPIRES_SOON_MS = 30 * DAY_MS
const HTTPS_PORT = 443

/** Examines the client certificate. That its key fits was proven when the credentials were parsed. */
export function examineCertificate(identity: Identity, now = Date.now()): BankFinding {
  const validity = readValidity(identity)
  if (!validity) throw new Invariant('The credentials have no certificate')
  const [from, until] = validity
  const params = { from: from.toISOString(), until: until.toISOString() }
  const leftMs = until.getTime() - now
  const days = Math.floor(leftMs / DAY_MS)
  if (leftMs <= 0) return find('certificate_expired', params)
  if (from.getTime() > now) return find('certificate_not_yet_valid', params)
  const isSoon = leftMs < EXPIRES_SOON_MS
  return find(isSoon ? 'certificate_expires_soon' : 'certificate_valid', { ...params, days })
}

/** Node.js reads the certificate of a P12 only through a socket; this one is never connected. */
function readValidity(identity: Identity): [Date, Date] | null {
  const socket = new TLSSocket(new Socket(), { secureContext: createSecureContext(identity) })
  const certificate = socket.getX509Certificate()
  socket.destroy()
  return certificate ? [certificate.validFromDate, certificate.validToDate] : null
}

/** Returns when the client certificate ends; null for a P12 without one. */
export function readCertificateEnd(identity: Identity): Date | null {
  return readValidity(identity)?.[1] ?? null
}

export interface ServerOptions {
  identity: Identity
  lookup: LookupFunction
  /** Authorities (PEM) that alone may issue the bank's certificate; absent: those of Node.js. */
  trusted?: string
}

/** Examines the certificate that a server shows. Nothing is sent through the connection. */
export function examineServer(
  url: URL,
  { identity, lookup, trusted }: ServerOptions,
  signal: AbortSignal,
): Promise<BankFinding> {
  const host = hostnameOf(url)
  return new Promise(resolve => {
    const socket = connect({
      host,
      port: Number(url.port) || HTTPS_PORT,
      lookup,
      minVersion: 'TLSv1.2',
      ...identity,
      ...(isIP(host) === 0 && { servername: host }),
      ...(trusted !== undefined && { ca: trusted }),
      // A refused certificate is read and named; the calls of the adapter never accept one.
      rejectUnauthorized: false,
    })
    const end = (finding: BankFinding) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      socket.destroy()
      resolve(finding)
    }
    const fail = (code: string) => end(judgeFailure(host, code))
    const abort = () => fail('ABORTED')
    const timer = setTimeout(fail, LIMITS.connectMs, 'CONNECT_TIMEOUT')
    socket.on('error', error => fail(codeOf(error)))
    socket.on('secureConnect', () => end(readServer(host, socket)))
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
  })
}

function readServer(host: string, socket: TLSSocket): BankFinding {
  const certificate = socket.getPeerX509Certificate()
  const issuer = certificate?.issuer.replaceAll('\n', ', ') ?? ''
  const until = certificate?.validToDate.toISOString() ?? ''
  if (socket.authorized) return find('server_trusted', { host, issuer, until })
  const reason = String(socket.authorizationError)
  return find('server_untrusted', { host, issuer, until, reason })
}

function judgeFailure(host: string, code: string): BankFinding {
  if (code === 'PRIVATE_ADDRESS') return find('server_private', { host })
  const verdict = judge({ kind: 'failure', isSent: false, code }, 'question')
  const isRefused = verdict.outcome === 'blocked'
  if (isRefused) return find('certificate_refused', { host, reason: code })
  return find('server_unreachable', { host, reason: code })
}
