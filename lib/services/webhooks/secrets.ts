import { randomBytes } from 'node:crypto'
import { db, Prisma, type Tx } from '#lib/base/db/client.ts'
import { utc } from '#lib/base/db/columns.ts'
import type { Once } from '#lib/base/db/once.ts'
import { asJson, queryRows } from '#lib/base/db/rows.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import { refuse, type TrocoError } from '#lib/base/errors.ts'
import { isUuid, newId } from '#lib/base/ids.ts'
import { Invariant } from '#lib/base/invariant.ts'
import { keyId, seal, unseal } from '#lib/base/keys.ts'
import { MODES, type Mode } from '#lib/base/mode.ts'
import { keepKey, lockAccount, type Owner } from '#lib/services/webhooks/owner.ts'

const SECRET_BYTES = 32
/** How long the one before goes on signing: the time to bring the new one to every receiver. */
const RETIRES_AFTER = Prisma.sql`interval '24 hours'`
/** Each that still signs adds to a header of every call; nobody needs more changes in a day. */
const SIGNING_MAX = 10

/** Whose secret: an endpoint's, or without one that of an account's charges and withdrawals. */
export interface SecretHolder {
  accountId: string
  mode: Mode
  endpointId: string | null
}

export interface ShownSecret {
  secret: string
  created_at: string
  /** Until when the one before it signs as well; null when none does. */
  previous_retires_at: string | null
}

/** Opens a new account's event numbering and makes the secrets that sign its resource webhooks. */
export async function openWebhooks(tx: Tx, accountId: string): Promise<void> {
  await tx.eventSequence.createMany({ data: MODES.map(mode => ({ accountId, mode })) })
  for (const mode of MODES) await addSecret(tx, { accountId, mode, endpointId: null }, newId())
}

/** Makes a secret under this id. Only sealed is it ever written anywhere. */
export async function addSecret(tx: Tx, holder: SecretHolder, id: string): Promise<void> {
  const secret = `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`
  await tx.webhookSecret.create({
    data: { ...holder, id, sealed: seal(secret, id), keyId: keyId() },
  })
}

/** The secret in force that signs the webhooks of charges and withdrawals. */
export async function readResourceSecret(accountId: string, mode: Mode): Promise<string | null> {
  const row = await db().webhookSecret.findFirst({
    where: { accountId, mode, endpointId: null, retiresAt: null },
  })
  return row ? unseal(row.sealed, row.id) : null
}

/** Every secret that signs now, the newest first. */
export async function readSigningSecrets(holder: SecretHolder): Promise<string[]> {
  const rows = await db().webhookSecret.findMany({
    where: { ...holder, OR: [{ retiresAt: null }, { retiresAt: { gt: new Date() } }] },
    orderBy: { retiresAt: { sort: 'desc', nulls: 'first' } },
  })
  return rows.map(({ sealed, id }) => unseal(sealed, id))
}

/** The secret in force of charges and withdrawals, to somebody who is written down as having seen it. */
export async function showSecret({ accountId, mode, note }: Owner): Promise<ShownSecret> {
  await transaction(tx => note(tx, 'webhook_secret.shown', accountId, { after: { mode } }))
  const holder = { accountId, mode, endpointId: null }
  return readShown(Prisma.sql`${isOf(holder)} AND s.retires_at IS NULL`)
}

/** The secret that was made under this id: whoever was told of it may hear the same again. */
export function recallSecret(accountId: string, mode: Mode, id: string): Promise<ShownSecret> {
  return readShown(Prisma.sql`s.account_id = ${accountId}::uuid AND s.mode = ${mode}
    AND s.id = ${id}::uuid`)
}

async function readShown(which: Prisma.Sql): Promise<ShownSecret> {
  const columns = Prisma.sql`s.id, encode(s.sealed, 'base64') AS sealed, ${utc('s.created_at')},
    ${utc('b.previous_retires_at')}`
  const [row] = await queryRows<Omit<ShownSecret, 'secret'> & { id: string; sealed: string }>(
    Prisma.sql`
      SELECT ${asJson(columns)}::text AS json FROM webhook_secrets s CROSS JOIN LATERAL (
        SELECT max(o.retires_at) AS previous_retires_at FROM webhook_secrets o
        WHERE o.account_id = s.account_id AND o.mode = s.mode
          AND o.endpoint_id IS NOT DISTINCT FROM s.endpoint_id
          AND o.retires_at > now() AND o.retires_at < COALESCE(s.retires_at, 'infinity')) b
      WHERE ${which}`,
  )
  if (!row) throw new Invariant('a stored webhook secret is missing')
  const secret = unseal(Buffer.from(row.sealed, 'base64'), row.id)
  const { created_at, previous_retires_at } = row
  return { secret, created_at, previous_retires_at }
}

/**
 * Puts a new secret in force and lets the one before sign for 24 h more. One after the other, however
 * many ask at once: each is shown a secret that signs, and the last one's is in force.
 */
export async function rotateSecret(
  owner: Owner,
  endpointId: string | null,
  once?: Once,
): Promise<ShownSecret> {
  const { accountId, mode, note } = owner
  const holder = { accountId, mode, endpointId }
  const id = once?.id ?? newId()
  await transaction(async tx => {
    await lockAccount(tx, accountId)
    if (endpointId !== null) await requireEndpoint(tx, owner, endpointId)
    await keepKey(tx, once)
    await tx.$executeRaw`
      DELETE FROM webhook_secrets s WHERE ${isOf(holder)} AND s.retires_at <= clock_timestamp()`
    const signing = await tx.$executeRaw`
      UPDATE webhook_secrets s
      SET retires_at = COALESCE(s.retires_at, clock_timestamp() + ${RETIRES_AFTER})
      WHERE ${isOf(holder)}`
    if (signing >= SIGNING_MAX) throw tooOften()
    await addSecret(tx, holder, id)
    const [action, target] = endpointId
      ? ['webhook_endpoint.secret_rotated', endpointId]
      : ['webhook_secret.rotated', accountId]
    await note(tx, action, target, { after: { mode } })
  })
  return recallSecret(accountId, mode, id)
}

async function requireEndpoint(tx: Tx, { accountId, mode }: Owner, id: string): Promise<void> {
  const where = { accountId, mode, id, deletedAt: null }
  if (isUuid(id) && (await tx.webhookEndpoint.count({ where })) > 0) return
  throw refuse('endpoint_not_found')
}

function isOf({ accountId, mode, endpointId }: SecretHolder): Prisma.Sql {
  return Prisma.sql`s.account_id = ${accountId}::uuid AND s.mode = ${mode}
    AND s.endpoint_id IS NOT DISTINCT FROM ${endpointId}::uuid`
}

function tooOften(): TrocoError {
  const message = `${SIGNING_MAX} secrets sign at once: wait until the oldest has retired`
  return refuse('limit_reached', message)
}
