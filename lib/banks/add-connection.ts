import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { findPrivateAddress, tryToOpen } from '#lib/banks/adapters.ts'
import { findCredentialsFlaw } from '#lib/banks/api-pix/credentials.ts'
import { type BankRequest, type CredentialsRequest, NewConnection } from '#lib/banks/schema.ts'
import { invalidInput, isTrocoError } from '#lib/core/errors.ts'
import { newId } from '#lib/core/ids.ts'
import { seal } from '#lib/core/keys.ts'
import { inferPixKeyType, maskPixKey, normalizePixKey } from '#lib/core/pix/pix-key.ts'
import { type Prisma, type Tx, transaction } from '#lib/db/client.ts'

/** Informs others of a new connection. */
type Announce = (tx: Tx, connection: { id: string; name: string }) => Promise<void>

/**
 * Adds a connection to a bank; refuses one that its adapter cannot open. It serves no account before its
 * check has passed. `announce` runs in the transaction. Returns its id.
 */
export async function addConnection(
  request: NewConnection,
  actor: Actor,
  announce?: Announce,
): Promise<string> {
  const connection = parse(request)
  const { name, kind, environment, profile = null, settings, credentials } = connection
  const receiving = connection.receiving_keys.map(key => readKey('receiving_keys', key))
  const paying = connection.paying_key && readKey('paying_key', connection.paying_key)
  if (receiving.length === 0 && !paying)
    throw invalidInput('receiving_keys', 'must have a key, unless there is a paying_key')
  if (paying && kind === 'api_pix')
    throw invalidInput('paying_key', 'must be absent: API Pix has no payouts')
  const address = findPrivateAddress(settings as Prisma.JsonObject)
  if (address !== null)
    throw invalidInput(
      'settings',
      `must not lead to ${address}, unless BANK_ALLOW_CIDRS contains it`,
    )
  const id = newId()
  const receivingKeys = receiving.map(({ key }) => key)
  const payingKey = paying ? paying.key : null
  const keys = { receivingKeys, payingKey }
  const details = { settings: settings as Prisma.JsonObject, credentials: credentials ?? null }
  tryToOpen({ id, name, kind, environment, profile, ...details, ...keys })
  const sealedCredentials = credentials ? seal(credentials, id, 'bank-credentials') : null
  await transaction(async tx => {
    const row = {
      id,
      name,
      kind,
      environment,
      profile,
      sealedCredentials,
      settings: settings as Prisma.InputJsonObject,
      isAssignable: environment === 'production',
      ...keys,
    }
    const { count } = await tx.connection.createMany({ data: row, skipDuplicates: true })
    if (count === 0) throw invalidInput('name', 'already belongs to another connection')
    await requireFreeKeys(tx, id)
    const after = {
      name,
      kind,
      environment,
      profile,
      receiving_keys: receiving.map(({ masked }) => masked),
      paying_key: paying ? paying.masked : null,
    }
    await recordAudit(tx, { actor, action: 'connection.added', target: id, after })
    await announce?.(tx, { id, name })
  })
  return id
}

/** A PIX key belongs to one bank account, and two connections to it would read the same payments. */
async function requireFreeKeys(tx: Tx, id: string): Promise<void> {
  // Of two that are added at once, neither would see the other: the second waits for the first.
  await tx.$queryRaw`SELECT pg_advisory_xact_lock(hashtextextended('connection keys', 0))::text`
  const [other] = await tx.$queryRaw<{ name: string }[]>`
    SELECT o.name FROM connections n
    JOIN connections o ON o.environment = n.environment AND o.receiving_keys && n.receiving_keys
    WHERE n.id = ${id}::uuid AND o.id <> n.id AND o.disabled_at IS NULL LIMIT 1`
  if (!other) return
  const rule = `must not have a key of the connection ${other.name}, which is open`
  const advice = 'use another key, `bank renew` for new credentials, or `bank close` before'
  throw invalidInput('receiving_keys', `${rule}: ${advice}`)
}

function parse(request: NewConnection) {
  const parsed = NewConnection.safeParse(request)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw invalidInput(String(issue?.path[0] ?? 'connection'), issue?.message ?? 'is invalid')
}

/** Returns the key in the form of the bank's key directory. */
function readKey(field: string, typed: string): { key: string; masked: string } {
  const inferred = inferPixKeyType(typed, 'dict')
  if (inferred.ok) {
    const reading = normalizePixKey(inferred.type, typed, 'dict')
    if (reading.ok) return { key: reading.key, masked: maskPixKey(inferred.type, reading.key) }
  }
  throw invalidInput(field, 'must be a PIX key')
}

/** Returns the text of the credentials that the adapter reads. Refuses them by the field to change. */
export function credentialsOf(request: CredentialsRequest): string {
  const { client_id, client_secret, app_key, certificate, private_key, p12, passphrase } = request
  const identity = { certificate, private_key, p12, passphrase }
  const credentials = JSON.stringify({ client_id, client_secret, app_key, ...identity })
  const flaw = findCredentialsFlaw(credentials)
  if (flaw) throw invalidInput(flaw.field, flaw.rule)
  return credentials
}

/** Adds the connection of a form, whose fields have other names than the settings of an adapter. */
export async function addRequested(
  request: BankRequest,
  actor: Actor,
  announce: Announce,
): Promise<string> {
  const { name, kind, environment, profile, receiving_keys, paying_key } = request
  const { api_url, token_url, trusted_certificates, payouts_in_flight } = request
  const settings = { api_url, token_url, trusted_certificates, payouts_in_flight }
  const connection = {
    name,
    kind,
    environment,
    profile,
    receiving_keys,
    paying_key,
    settings: JSON.parse(JSON.stringify(settings)),
    credentials: credentialsOf(request),
  }
  try {
    return await addConnection(connection, actor, announce)
  } catch (error) {
    const [rule] = (isTrocoError(error) && error.fields?.settings) || []
    // Of the settings, only the addresses can be wrong by now.
    throw rule === undefined ? error : invalidInput('api_url', rule.replace(/^settings /, ''))
  }
}
