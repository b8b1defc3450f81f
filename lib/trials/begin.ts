import { type Actor, personOf, recordAudit } from '#lib/audit/record.ts'
import { invalidInput, refuse } from '#lib/core/errors.ts'
import { isUuid, newRoutableId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { inferPixKeyType, normalizePixKey, type PixKeyType } from '#lib/core/pix/pix-key.ts'
import type { Tx } from '#lib/db/client.ts'
import { transaction } from '#lib/db/transaction.ts'
import { findLatestTrial } from '#lib/trials/queries.ts'
import type { Trial } from '#lib/trials/schema.ts'

/** Efí rejects a refund of one cent in homologation. */
const AMOUNTS = { test: 2, live: 1 } as const
const PAYOUT_AMOUNT = 1

export interface NewTrial {
  connectionId: string
  pixKey: string | null | undefined
  /** Whether to repeat a trial that has passed with this key. */
  isAgain: boolean
  actor: Actor
}

interface Slot {
  mode: Mode
  needsKey: boolean
  isClosed: boolean
}

/**
 * Begins a trial of a connection, or returns the one that is under way with this key: a worker goes on with
 * it. Of two who begin at once, both get the same one. Its three ids are stored before any call.
 */
export async function beginTrial({
  connectionId,
  pixKey,
  isAgain,
  actor,
}: NewTrial): Promise<Trial> {
  return transaction(async tx => {
    const slot = await lockConnection(tx, connectionId)
    const key = readKey(slot, pixKey)
    const latest = await tx.connectionTrial.findFirst({
      where: { connectionId },
      orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    })
    const isSame = latest?.pixKey === (key?.pixKey ?? null)
    if (latest?.endedAt === null && !isSame)
      throw refuse('under_way', 'A trial with another key is under way: wait for its end')
    const isGivenBack =
      latest && isSame && (!latest.endedAt || (latest.status === 'passed' && !isAgain))
    if (!isGivenBack) {
      if (slot.isClosed) throw refuse('already_final', { subject: 'Connection', status: 'closed' })
      await insertTrial(tx, { connectionId, slot, key, actor })
    }
    return (await findLatestTrial(connectionId, tx)) as Trial
  })
}

async function insertTrial(
  tx: Tx,
  {
    connectionId,
    slot,
    key,
    actor,
  }: { key: Key | null; slot: Slot } & Omit<NewTrial, 'pixKey' | 'isAgain'>,
): Promise<void> {
  const [id, refundId, payoutId] = [1, 2, 3].map(() => newRoutableId(OPERATOR_ACCOUNT_ID))
  const { mode } = slot
  const amount = AMOUNTS[mode]
  await tx.$executeRaw`
    INSERT INTO connection_trials (account_id, id, mode, connection_id, status, amount, requested_by, refund_id,
      pix_key, pix_key_type, payout_id, payout_amount, due_at)
    VALUES (${OPERATOR_ACCOUNT_ID}::uuid, ${id}::uuid, ${mode}, ${connectionId}::uuid, 'opening',
      ${amount}::bigint, ${personOf(actor)}::uuid, ${refundId}::uuid, ${key?.pixKey ?? null},
      ${key?.pixKeyType ?? null}, ${payoutId}::uuid, ${PAYOUT_AMOUNT}::bigint, now())`
  const after = { mode, amount, pays_out: key !== null }
  await recordAudit(tx, { actor, action: 'connection.trial_begun', target: connectionId, after })
}

/** Locks the connection, so that two trials cannot begin at once. */
async function lockConnection(tx: Tx, id: string): Promise<Slot> {
  if (!isUuid(id)) throw refuse('connection_not_found')
  const [row] = await tx.$queryRaw<(Slot & { receives: boolean })[]>`
    SELECT CASE environment WHEN 'production' THEN 'live' ELSE 'test' END AS mode,
      paying_key IS NOT NULL AS "needsKey", disabled_at IS NOT NULL AS "isClosed",
      cardinality(receiving_keys) > 0 AS receives
    FROM connections WHERE id = ${id}::uuid AND kind <> 'simulator' FOR NO KEY UPDATE`
  if (!row) throw refuse('connection_not_found')
  if (!row.receives)
    throw invalidInput('connection', 'has no receiving key, and a trial begins with a payment')
  return row
}

interface Key {
  pixKey: string
  pixKeyType: PixKeyType
}

/** Reads the key in the form of the bank's directory. */
function readKey({ mode, needsKey }: Slot, text: string | null | undefined): Key | null {
  if (!needsKey) return null
  if (!text)
    throw invalidInput('pix_key', 'must be given: the connection pays out, and one cent goes to it')
  const strictness = mode === 'live' ? 'dict' : 'form'
  const inferred = inferPixKeyType(text, strictness)
  const reading = inferred.ok ? normalizePixKey(inferred.type, text, strictness) : inferred
  if (inferred.ok && reading.ok && 'key' in reading)
    return { pixKey: reading.key, pixKeyType: inferred.type }
  throw invalidInput(
    'pix_key',
    'must be a PIX key: a CPF with its punctuation, and a phone number with +55',
  )
}
