import { openTrialAccount } from '#lib/accounts/create.ts'
import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { createCharge } from '#lib/charges/create.ts'
import { createRefund } from '#lib/charges/refunds/create.ts'
import { invalidInput, isTrocoError, refuse } from '#lib/core/errors.ts'
import { isUuid, newRoutableId, removeHyphens, TRIAL_ACCOUNT_ID } from '#lib/core/ids.ts'
import { log } from '#lib/core/log.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db, Prisma, type Tx, transaction } from '#lib/db/client.ts'
import { REFUND_AMOUNT, type Trial, WITHDRAWAL_AMOUNT } from '#lib/trials/schema.ts'
import { findLatestTrial } from '#lib/trials/steps.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import { readPixKey, toWithdrawalOrder } from '#lib/withdrawals/schema.ts'

/** Time to pay the code. */
const PAYABLE_S = 3_600

interface NewTrial {
  connectionId: string
  pixKey: string | null | undefined
  actor: Actor
}

interface Slot {
  name: string
  mode: Mode
  needsKey: boolean
  isClosed: boolean
}

/**
 * Begins a trial of a connection, or returns the one that is running with this key. It is a charge of the operator's
 * trial account, which `continueTrials` refunds in part, and withdraws the rest of, once it is paid. Stored before the
 * bank is called; an opening that a crash leaves is ended like that of any other charge.
 */
export async function beginTrial({ connectionId, pixKey: text, actor }: NewTrial): Promise<Trial> {
  const begun = await transaction(async tx => {
    const slot = await lockConnection(tx, connectionId)
    const pixKey = readKey(slot, text)
    const latest = await findLatestTrial(connectionId, tx)
    if (latest?.status === 'running') {
      if (await isPaidTo(tx, latest, pixKey)) return null
      throw refuse('under_way', 'A trial with another key is under way: wait for its end')
    }
    if (slot.isClosed) throw refuse('already_final', { subject: 'Connection', status: 'closed' })
    await openTrialAccount(tx)
    const chargeId = newRoutableId(TRIAL_ACCOUNT_ID)
    await tx.connectionTrial.create({ data: { chargeId, connectionId, pixKey } })
    const amount = REFUND_AMOUNT + (pixKey === null ? 0 : WITHDRAWAL_AMOUNT)
    const after = { mode: slot.mode, amount, pays_out: pixKey !== null }
    await recordAudit(tx, { actor, action: 'connection.trial_begun', target: connectionId, after })
    return { slot, chargeId, amount }
  })
  if (begun) await openCharge(connectionId, begun)
  return (await findLatestTrial(connectionId)) as Trial
}

interface Begun {
  slot: Slot
  chargeId: string
  amount: number
}

async function openCharge(
  connectionId: string,
  { slot: { name, mode }, chargeId, amount }: Begun,
): Promise<void> {
  const merchant = {
    id: TRIAL_ACCOUNT_ID,
    chargeId,
    name,
    city: '',
    expiresIn: PAYABLE_S,
    receivingConnectionId: connectionId,
  }
  const request = { amount, client_name: '', client_email: '', client_doc: '' }
  try {
    await createCharge(merchant, mode, request, null)
  } catch (error) {
    if (!isTrocoError(error)) throw error
    // If the bank was called, the steps show what it answered.
    const uncalled = await db().$executeRaw`
      DELETE FROM connection_trials WHERE charge_id = ${chargeId}::uuid AND NOT EXISTS (
        SELECT FROM gateway_calls WHERE account_id = ${TRIAL_ACCOUNT_ID}::uuid AND subject_id = ${chargeId}::uuid)`
    if (uncalled > 0) throw error
  }
}

/** Locks the connection, so that two trials cannot begin at once. */
async function lockConnection(tx: Tx, id: string): Promise<Slot> {
  if (!isUuid(id)) throw refuse('connection_not_found')
  const [row] = await tx.$queryRaw<(Slot & { receives: boolean })[]>`
    SELECT name, CASE environment WHEN 'production' THEN 'live' ELSE 'test' END AS mode,
      paying_key IS NOT NULL AS "needsKey", disabled_at IS NOT NULL AS "isClosed",
      cardinality(receiving_keys) > 0 AS receives
    FROM connections WHERE id = ${id}::uuid AND kind <> 'simulator' FOR NO KEY UPDATE`
  if (!row) throw refuse('connection_not_found')
  if (!row.receives)
    throw invalidInput('connection', 'has no receiving key, and a trial begins with a payment')
  return row
}

function readKey({ mode, needsKey }: Slot, text: string | null | undefined): string | null {
  if (!needsKey) return null
  if (!text)
    throw invalidInput('pix_key', 'must be given: the connection pays out, and one cent goes to it')
  if (readPixKey(mode, { pix_key: text }).ok) return text
  throw invalidInput(
    'pix_key',
    'must be a PIX key: a CPF with its punctuation, and a phone number with +55',
  )
}

async function isPaidTo(tx: Tx, { id, mode }: Trial, pixKey: string | null): Promise<boolean> {
  const { pixKey: stored } = await tx.connectionTrial.findUniqueOrThrow({ where: { chargeId: id } })
  if (pixKey === null || stored === null) return pixKey === stored
  const [one, other] = [pixKey, stored].map(key => readPixKey(mode, { pix_key: key }))
  return Boolean(one?.ok && other?.ok && one.dictKey === other.dictKey)
}

interface PaidTrial {
  chargeId: string
  connectionId: string
  mode: Mode
  pixKey: string | null
  isRefunded: boolean
  isWithdrawn: boolean
}

/**
 * Requests the refund and the withdrawal of paid trials, each once: a second refund would exceed what is left of the
 * charge, and a second withdrawal would repeat its reference. Returns 0: what is refused is tried again later.
 */
export async function continueTrials(): Promise<number> {
  const paid = await db().$queryRaw<PaidTrial[]>`
    SELECT * FROM (
      SELECT c.id AS "chargeId", c.connection_id AS "connectionId", c.mode, k.pix_key AS "pixKey",
        EXISTS (SELECT FROM refunds r WHERE r.account_id = c.account_id AND r.charge_id = c.id) AS "isRefunded",
        k.pix_key IS NULL OR EXISTS (SELECT FROM withdrawals w WHERE w.account_id = c.account_id AND w.mode = c.mode
          AND w.external_id = c.txid) AS "isWithdrawn"
      FROM connection_trials k JOIN charges c ON c.account_id = ${TRIAL_ACCOUNT_ID}::uuid AND c.id = k.charge_id
      WHERE c.status = 'paid') t
    WHERE NOT ("isRefunded" AND "isWithdrawn")`
  for (const trial of paid) {
    const { chargeId, connectionId, mode, pixKey, isRefunded, isWithdrawn } = trial
    await attempt(trial, async () => {
      if (!isRefunded)
        await createRefund(TRIAL_ACCOUNT_ID, mode, chargeId, { amount: REFUND_AMOUNT })
    })
    await attempt(trial, async () => {
      if (isWithdrawn || pixKey === null) return
      const order = toWithdrawalOrder(mode, { amount: WITHDRAWAL_AMOUNT, pix_key: pixKey })
      await createWithdrawal(TRIAL_ACCOUNT_ID, mode, {
        ...order,
        externalId: removeHyphens(chargeId),
        connectionId,
      })
    })
  }
  return 0
}

/** A trial that is refused a step, such as by a limit of the connection, must not stop the others. */
async function attempt({ chargeId }: PaidTrial, step: () => Promise<void>): Promise<void> {
  try {
    await step()
  } catch (err) {
    if (!isTrocoError(err)) throw err
    log().warn({ err, chargeId }, 'a trial cannot go on yet')
  }
}

/** Stores that a notice of the bank named the payment of a trial: by its charge, or by the end-to-end id. */
export async function noteTrialNotices(
  connectionId: string,
  kind: 'charge' | 'payment',
  ids: string[],
): Promise<void> {
  const column = kind === 'charge' ? Prisma.sql`c.txid` : Prisma.sql`c.end_to_end_id`
  await db().$executeRaw`
    UPDATE connection_trials k SET noticed_at = now() FROM charges c
    WHERE k.connection_id = ${connectionId}::uuid AND k.noticed_at IS NULL
      AND c.account_id = ${TRIAL_ACCOUNT_ID}::uuid AND c.id = k.charge_id AND ${column} = ANY (${ids}::text[])`
}
