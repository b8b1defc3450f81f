import { createHmac, randomBytes } from 'node:crypto'
import { refuse, type TrocoError } from '#lib/core/errors.ts'
import { isUuid, newId } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import { keyId, seal, unseal } from '#lib/core/keys.ts'
import { MODES, type Mode } from '#lib/core/mode.ts'
import { db, Prisma, type Tx, transaction } from '#lib/db/client.ts'
import type { IdempotentRequest } from '#lib/db/idempotency.ts'
import { asJson, queryRows, utc } from '#lib/db/sql.ts'
import { lockAccount, type Owner, storeIdempotencyKey } from '#lib/webhooks/owner.ts'

const SECRET_BYTES = 32
/** Overlap of a rotation: time to install the new secret at every receiver. */
const RETIRES_AFTER = Prisma.sql`interval '24 hours'`
/** Maximum active secrets: each one adds a signature to every request header. */
const SIGNING_SECRETS_MAX = 10

/** An endpoint or, if `endpointId` is null, the webhooks of all charges and withdrawals. */
interface SecretHolder {
  accountId: string
  mode: Mode
  endpointId: string | null
}

interface ShownSecret {
  secret: string
  created_at: string
  previous_retires_at: string | null
}

/** Creates the secrets for an account's resource webhooks. */
export async function openWebhooks(tx: Tx, accountId: string): Promise<void> {
  for (const mode of MODES) await addSecret(tx, { accountId, mode, endpointId: null }, newId())
}

export async function addSecret(tx: Tx, holder: SecretHolder, id: string): Promise<void> {
  const secret = `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`
  await tx.webhookSecret.create({
    data: { ...holder, id, sealed: seal(secret, id), keyId: keyId() },
  })
}

export async function readResourceSecret(accountId: string, mode: Mode): Promise<string | null> {
  const row = await db().webhookSecret.findFirst({
    where: { accountId, mode, endpointId: null, retiresAt: null },
  })
  return row ? unseal(row.sealed, row.id) : null
}

export async function readSigningSecrets(holder: SecretHolder): Promise<string[]> {
  const rows = await db().webhookSecret.findMany({
    where: { ...holder, OR: [{ retiresAt: null }, { retiresAt: { gt: new Date() } }] },
    orderBy: { retiresAt: { sort: 'desc', nulls: 'first' } },
  })
  return rows.map(({ sealed, id }) => unseal(sealed, id))
}

/** Returns the current resource secret, and records that it was shown. */
export async function showSecret({ accountId, mode, note }: Owner): Promise<ShownSecret> {
  await transaction(tx => note(tx, 'webhook_secret.shown', accountId, { after: { mode } }))
  const holder = { accountId, mode, endpointId: null }
  return readSecret(Prisma.sql`${holderCondition(holder)} AND s.retires_at IS NULL`)
}

/** Returns the secret that was created with this id, for a repeated request. */
export function readCreatedSecret(accountId: string, mode: Mode, id: string): Promise<ShownSecret> {
  return readSecret(Prisma.sql`s.account_id = ${accountId}::uuid AND s.mode = ${mode}
    AND s.id = ${id}::uuid`)
}

async function readSecret(condition: Prisma.Sql): Promise<ShownSecret> {
  const columns = Prisma.sql`s.id, encode(s.sealed, 'base64') AS sealed, ${utc('s.created_at')},
    ${utc('b.previous_retires_at')}`
  const [row] = await queryRows<Omit<ShownSecret, 'secret'> & { id: string; sealed: string }>(
    Prisma.sql`
      SELECT ${asJson(columns)}::text AS json FROM webhook_secrets s CROSS JOIN LATERAL (
        SELECT max(o.retires_at) AS previous_retires_at FROM webhook_secrets o
        WHERE o.account_id = s.account_id AND o.mode = s.mode
          AND o.endpoint_id IS NOT DISTINCT FROM s.endpoint_id
          AND o.retires_at > now() AND o.retires_at < COALESCE(s.retires_at, 'infinity')) b
      WHERE ${condition}`,
  )
  if (!row) throw new Invariant('a stored webhook secret is missing')
  const secret = unseal(Buffer.from(row.sealed, 'base64'), row.id)
  const { created_at, previous_retires_at } = row
  return { secret, created_at, previous_retires_at }
}

/**
 * Replaces the current secret; the previous one signs for 24 h more. Concurrent calls run in turn:
 * each returns a secret that signs, and the last call's secret is current.
 */
export async function rotateSecret(
  owner: Owner,
  endpointId: string | null,
  once?: IdempotentRequest,
): Promise<ShownSecret> {
  const { accountId, mode, note } = owner
  const holder = { accountId, mode, endpointId }
  const id = once?.id ?? newId()
  await transaction(async tx => {
    await lockAccount(tx, accountId)
    if (endpointId !== null) await requireEndpoint(tx, owner, endpointId)
    await storeIdempotencyKey(tx, once)
    await tx.$executeRaw`
      DELETE FROM webhook_secrets s WHERE ${holderCondition(holder)} AND s.retires_at <= clock_timestamp()`
    const activeCount = await tx.$executeRaw`
      UPDATE webhook_secrets s
      SET retires_at = COALESCE(s.retires_at, clock_timestamp() + ${RETIRES_AFTER})
      WHERE ${holderCondition(holder)}`
    if (activeCount >= SIGNING_SECRETS_MAX) throw tooManySecrets()
    await addSecret(tx, holder, id)
    const [action, target] = endpointId
      ? ['webhook_endpoint.secret_rotated', endpointId]
      : ['webhook_secret.rotated', accountId]
    await note(tx, action, target, { after: { mode } })
  })
  return readCreatedSecret(accountId, mode, id)
}

async function requireEndpoint(tx: Tx, { accountId, mode }: Owner, id: string): Promise<void> {
  const where = { accountId, mode, id, deletedAt: null }
  if (isUuid(id) && (await tx.webhookEndpoint.count({ where })) > 0) return
  throw refuse('endpoint_not_found')
}

function holderCondition({ accountId, mode, endpointId }: SecretHolder): Prisma.Sql {
  return Prisma.sql`s.account_id = ${accountId}::uuid AND s.mode = ${mode}
    AND s.endpoint_id IS NOT DISTINCT FROM ${endpointId}::uuid`
}

export function tooManySecrets(): TrocoError {
  const message = `The limit of ${SIGNING_SECRETS_MAX} active secrets is reached: wait until the oldest expires`
  return refuse('limit_reached', message)
}

const SECRET_PREFIX = 'whsec_'

/**
 * Headers of Standard Webhooks 1.0: the id is the same for every attempt, the timestamp is that of
 * this attempt, by the database's clock. All active secrets sign, so that receivers can switch gradually.
 */
export function signatureHeaders(
  eventId: string,
  body: string,
  secrets: string[],
  at: Date,
): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1_000))
  const signed = `${eventId}.${timestamp}.${body}`
  const signatures = secrets.map(secret => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
  })
  return {
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
}
