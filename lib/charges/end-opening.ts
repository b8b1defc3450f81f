import type { Gateway } from '#lib/banks/gateway.ts'
import { mayArrive } from '#lib/banks/journal.ts'
import { doublingPauseMs } from '#lib/banks/pauses.ts'
import { insertCharge, type NewCharge, openingEndSql } from '#lib/charges/insert.ts'
import { postponeCharges, RETRY_PAUSE_MS } from '#lib/charges/postpone.ts'
import { receivePayments } from '#lib/charges/receive.ts'
import { type PaidState, removeAtBank } from '#lib/charges/remove.ts'
import { parseDatabaseError } from '#lib/core/errors.ts'
import { type Claim, nowPlusMs } from '#lib/db/claim.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { ownKeyCondition } from '#lib/db/idempotency.ts'

const PAUSE_MAX_MS = 10 * 60_000

/**
 * Ends an unfinished opening: removes the charge at the bank and deletes it, or credits it if it was
 * paid. Postpones it while the bank does not say which, or may still receive it.
 */
export async function cancelOpening(gateway: Gateway, claim: Claim): Promise<void> {
  const removal = await removeAtBank(gateway, claim)
  if (removal.state === 'paid') return creditOpening(claim, removal)
  const isGone =
    removal.state === 'gone' ||
    (removal.state === 'absent' && !(await mayArrive(claim, 'createCharge')))
  if (!isGone) {
    const askedMs = removal.state === 'unconfirmed' ? removal.pauseMs : 0
    const pauseMs = doublingPauseMs(claim.attempts, RETRY_PAUSE_MS, PAUSE_MAX_MS)
    return postponeCharges([claim], nowPlusMs(Math.max(askedMs, pauseMs)))
  }
  await deleteOpening(claim)
}

/**
 * After a crash between the statements, the charge is pending or still opening, and its payments are
 * found again. Payments of another amount alone end the opening: the bank takes no other for it.
 */
async function creditOpening(claim: Claim, { brCode = '', payments }: PaidState): Promise<void> {
  await db().$executeRaw`
    UPDATE charges SET status = 'pending', br_code = ${brCode}, updated_at = now()
    WHERE account_id = ${claim.accountId}::uuid AND id = ${claim.id}::uuid
      AND status = 'opening' AND lease = ${claim.lease}::uuid
      AND amount = ANY (${payments.map(({ amount }) => amount)}::bigint[])`
  await receivePayments([{ ...claim, payments, chargeId: claim.id }])
  await deleteOpening(claim)
}

async function deleteOpening({ accountId, id, lease }: Claim): Promise<void> {
  await db().$executeRaw`
    DELETE FROM charges WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid
      AND status = 'opening' AND lease = ${lease}::uuid`
}

/**
 * Undoes an opening before a refusal: nothing can be paid, and the merchant's reference is free. If
 * the bank may have the charge, its row stays for the worker to cancel, also if the worker ends it
 * now. With its key kept, a repeated request uses the same txid, whether or not the row stays.
 */
export async function undoOpening(
  charge: NewCharge,
  mayExist: boolean,
  isKeyKept: boolean,
): Promise<void> {
  const { accountId, id, order, once } = charge
  const row = Prisma.sql`account_id = ${accountId}::uuid AND id = ${id}::uuid
    AND status = 'opening'`
  if (mayExist) {
    const kept = await db().$executeRaw`
      UPDATE charges SET external_id = ${order.txid}, external_id_slot = 0, lease = NULL, due_at = ${openingEndSql}
      WHERE ${row}`
    if (kept === 0) await insertAgain(charge)
  } else await db().$executeRaw`DELETE FROM charges WHERE ${row}`
  if (!once) return
  if (isKeyKept) {
    await db().$executeRaw`
      UPDATE idempotency_keys SET locked_until = now() WHERE ${ownKeyCondition(once)}`
  } else await db().$executeRaw`DELETE FROM idempotency_keys WHERE ${ownKeyCondition(once)}`
}

/** The worker may have deleted the row, or found the charge paid. */
async function insertAgain(charge: NewCharge): Promise<void> {
  const request = { ...charge.request, external_id: undefined }
  await insertCharge({ ...charge, request, once: undefined }, null).catch(error => {
    if (parseDatabaseError(error).constraint !== 'charges_pkey') throw error
  })
}
