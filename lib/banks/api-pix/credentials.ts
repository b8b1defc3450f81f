import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import * as z from 'zod'
import { parseJson } from '#lib/banks/api-pix/json.ts'
import { invalidInput } from '#lib/core/errors.ts'

/** What a socket presents to the bank. */
export type Identity =
  | { cert: string; key: string; passphrase?: string }
  | { pfx: Buffer; passphrase: string }

export interface Credentials {
  clientId: string
  /** Absent at banks that authenticate by the certificate alone. */
  clientSecret?: string
  /** Key of the application, which some banks want with every call. */
  appKey?: string
  identity: Identity
}

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
export interface CredentialsFlaw {
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
