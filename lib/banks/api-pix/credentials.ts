import { X509Certificate } from 'node:crypto'
import { isIP, type LookupFunction, Socket } from 'node:net'
import { connect, createSecureContext, TLSSocket } from 'node:tls'
import * as z from 'zod'
import {
  type Credentials,
  codeOf,
  EXCHANGE_LIMITS,
  type Identity,
} from '#lib/banks/api-pix/client.ts'
import { parseJson } from '#lib/banks/api-pix/json.ts'
import { judge } from '#lib/banks/api-pix/outcomes.ts'
import { type BankFinding, find } from '#lib/banks/gateway.ts'
import { hostnameOf } from '#lib/core/addresses.ts'
import { invalidInput } from '#lib/core/errors.ts'
import { Invariant } from '#lib/core/invariant.ts'

const text = z.string().min(1)
const Shape = z.strictObject({
  client_id: text,
  client_secret: text.optional(),
  app_key: text.optional(),
  certificate: text.optional(),
  private_key: text.optional(),
  p12: text.optional(),
  passphrase: z.string().optional(),
})

/** Other users can read arguments. Unset, PASSPHRASE is empty, as that of each P12 of Efí. */
const CONVERSION = [
  'export PASSPHRASE="$PASSPHRASE"',
  'openssl pkcs12 -legacy -in old.p12 -nodes -passin env:PASSPHRASE -out key.pem',
  'openssl pkcs12 -export -in key.pem -passout env:PASSPHRASE -out new.p12',
  'rm key.pem',
].join(' && ')

/** A flaw of the credentials: the field to change, and the rule that it breaks, which quotes nothing of them. */
interface CredentialsFlaw {
  field: keyof z.infer<typeof Shape>
  rule: string
}

/**
 * Parses the credentials of a connection: a JSON object with `client_id`, and either `certificate`
 * and `private_key` (PEM) or `p12` (base64). Throws a refusal that quotes nothing of them.
 */
export function parseCredentials(credentials: string): Credentials {
  const parsed = readCredentials(credentials)
  if ('rule' in parsed) throw invalidInput('credentials', parsed.rule)
  return parsed
}

/** Returns what is wrong with credentials; null if they can be used. */
export function findCredentialsFlaw(credentials: string): CredentialsFlaw | null {
  const parsed = readCredentials(credentials)
  return 'rule' in parsed ? parsed : null
}

function readCredentials(credentials: string): Credentials | CredentialsFlaw {
  const shape = Shape.safeParse(parseJson(credentials))
  if (!shape.success) {
    const [issue] = shape.error.issues
    const path = issue?.path.join('.') ?? ''
    const rule = `must be a JSON object with client_id (${path || issue?.code})`
    return { field: Object.hasOwn(Shape.shape, path) ? (path as 'client_id') : 'client_id', rule }
  }
  const { client_id: clientId, client_secret: clientSecret, app_key: appKey } = shape.data
  const identity = readIdentity(shape.data)
  if ('rule' in identity) return identity
  try {
    createSecureContext(identity)
  } catch (error) {
    return describeFlaw(error as NodeJS.ErrnoException, identity)
  }
  return { clientId, clientSecret, appKey, identity }
}

function readIdentity(fields: z.infer<typeof Shape>): Identity | CredentialsFlaw {
  const { certificate: cert, private_key: key, p12, passphrase } = fields
  if (p12 !== undefined && cert === undefined && key === undefined)
    return { pfx: Buffer.from(p12, 'base64'), passphrase: passphrase ?? '' }
  if (p12 === undefined && cert !== undefined && key !== undefined)
    return { cert, key, ...(passphrase !== undefined && { passphrase }) }
  const field =
    cert === undefined && key === undefined ? 'p12' : cert ? 'private_key' : 'certificate'
  return { field, rule: 'must have either p12, or certificate and private_key' }
}

/** The texts of OpenSSL name no part of a key. */
function describeFlaw(error: NodeJS.ErrnoException, identity: Identity): CredentialsFlaw {
  if (error.code === 'ERR_CRYPTO_UNSUPPORTED_OPERATION')
    return {
      field: 'p12',
      rule: `must have a p12 without RC2. Set PASSPHRASE, if it has one. Convert it with: ${CONVERSION}`,
    }
  if ('pfx' in identity && error.message === 'mac verify failure')
    return { field: 'passphrase', rule: 'must have the passphrase of the p12' }
  const rule = `must have a readable certificate and its key (${error.message})`
  if ('pfx' in identity) return { field: 'p12', rule }
  return { field: isCertificate(identity.cert) ? 'private_key' : 'certificate', rule }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined
  } catch {
    return false
  }
}

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

interface ServerOptions {
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
    const timer = setTimeout(fail, EXCHANGE_LIMITS.connectMs, 'CONNECT_TIMEOUT')
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
