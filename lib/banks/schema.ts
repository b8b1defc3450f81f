import * as z from 'zod'
import { BANK_KINDS, type ConnectionKind } from '#lib/banks/states.ts'
import { listOf, must, openApiMeta, text, wholeCents } from '#lib/core/fields.ts'
import { AMOUNT_MAX } from '#lib/core/money.ts'
import { readDictKey } from '#lib/core/pix/pix-key.ts'

/** A connection for homologation is checked and tried, and never serves an account. */
export const ENVIRONMENTS = ['homologation', 'production'] as const
export type Environment = (typeof ENVIRONMENTS)[number]

const NAME_MAX = 60
/** More would be no limit: a process sends at most 8 orders of a connection at once. */
const PAYOUTS_IN_FLIGHT_MAX = 100

/** What Troco itself reads of a connection's settings; the rest is for the adapter. */
export const ConnectionSettings = z.looseObject({
  payouts_in_flight: z.int().min(1).max(PAYOUTS_IN_FLIGHT_MAX).optional(),
})

/** `credentials`: text that the adapter reads, such as a key and its certificate. */
export const NewConnection = z.object({
  name: text(1, NAME_MAX),
  kind: z.enum(BANK_KINDS, must(`be ${BANK_KINDS.join(' or ')}`)),
  environment: z.enum(ENVIRONMENTS, must(`be ${ENVIRONMENTS.join(' or ')}`)),
  profile: text(1, NAME_MAX).optional(),
  settings: z
    .record(z.string(), z.json(), must('be a JSON object'))
    .refine(settings => ConnectionSettings.safeParse(settings).success, {
      error: `must have payouts_in_flight from 1 to ${PAYOUTS_IN_FLIGHT_MAX}, if at all`,
    })
    .default({}),
  credentials: z.string().optional(),
  receiving_keys: z.array(z.string()).default([]),
  paying_key: z.string().optional(),
})
export type NewConnection = z.input<typeof NewConnection>

/** Limits of a connection in cents: of one payout, and of those of a day in São Paulo. */
export const ConnectionLimits = z.object({
  payout_max: wholeCents(1, AMOUNT_MAX).nullable(),
  payout_day_max: wholeCents(0, AMOUNT_MAX).nullable(),
})
export type ConnectionLimits = z.infer<typeof ConnectionLimits>

/** Both limits; an absent one is none. */
export const LimitsRequest = z.object({
  payout_max: ConnectionLimits.shape.payout_max.default(null),
  payout_day_max: ConnectionLimits.shape.payout_day_max.default(null),
})

/** Connections of an account in live mode; null: none. */
export const AssignedConnections = z.object({
  receiving_id: assignedId(
    'Connection through which the account receives; null: live mode closes.',
  ),
  paying_id: assignedId(
    'Connection through which the account pays out; null: it pays nothing out.',
  ),
})
export type AssignedConnections = z.infer<typeof AssignedConnections>

function assignedId(description: string) {
  const id = z.uuid(must('be the id of a connection'))
  return id.nullable().default(null).meta(openApiMeta(description))
}

/** `unserved`: this version has no adapter for it, its credentials cannot be read, or its address is private. */
export type ConnectionState = 'passed' | 'failed' | 'unchecked' | 'unserved' | 'closed'

export interface ConnectionLine {
  id: string
  name: string
  kind: ConnectionKind
  environment: Environment | null
  state: ConnectionState
  /** Result of the last check; null before the first. */
  checkCode: string | null
  /** Whether it has keys to receive with, or one to pay from. */
  receives: boolean
  pays: boolean
  limits: ConnectionLimits
  /** How many accounts receive or pay out through it. */
  accounts: number
}

const CREDENTIAL_MAX = 20_000
const secret = (lengthMax = CREDENTIAL_MAX) =>
  z
    .string(must('be a string'))
    .min(1, must('not be empty'))
    .max(lengthMax, must(`have at most ${lengthMax} characters`))

/** Credentials as a form sends them: either `p12` (base64), or `certificate` and `private_key` (PEM). */
export const CredentialsRequest = z.object({
  client_id: secret(500),
  client_secret: secret(500).optional(),
  app_key: secret(500).optional(),
  certificate: secret().optional(),
  private_key: secret().optional(),
  p12: secret().optional(),
  passphrase: z.string(must('be a string')).max(500).optional(),
})
export type CredentialsRequest = z.infer<typeof CredentialsRequest>

const httpsAddress = z.url({ protocol: /^https$/, ...must('be an https address') }).optional()
const KEYS_MAX = 20

/** Judged by the form, before it asks for the password. */
const pixKey = z
  .string()
  .max(100)
  .refine(key => readDictKey(key) !== null, must('be a PIX key'))

/** A new connection as a form sends it. */
export const BankRequest = CredentialsRequest.extend({
  ...NewConnection.pick({ name: true, kind: true, environment: true, profile: true }).shape,
  api_url: httpsAddress,
  token_url: httpsAddress,
  trusted_certificates: secret()
    .regex(/-----BEGIN CERTIFICATE-----/, must('have a certificate as PEM'))
    .optional(),
  payouts_in_flight: ConnectionSettings.shape.payouts_in_flight,
  receiving_keys: listOf(pixKey, KEYS_MAX).default([]),
  paying_key: pixKey.optional(),
}).refine(({ receiving_keys, paying_key }) => receiving_keys.length > 0 || paying_key, {
  path: ['receiving_keys'],
  ...must('have a key, unless there is a paying_key'),
})
export type BankRequest = z.infer<typeof BankRequest>
