import type { Claim } from '#lib/base/db/claim.ts'
import { db, Prisma } from '#lib/base/db/client.ts'
import { keyCondition } from '#lib/base/db/idempotency.ts'
import type { NewCharge } from '#lib/rooms/charges/insert.ts'
import { nowPlusMs, postponeCharges, RETRY_PAUSE_MS } from '#lib/rooms/charges/postpone.ts'
import { type PaidState, removeAtBank } from '#lib/rooms/charges/remove.ts'
import { settleCharges } from '#lib/rooms/charges/settle.ts'
import type { Gateway } from '#lib/services/gateway/gateway.ts'

/**
 * Ends an unfinished opening: removes the charge at the bank and deletes it, or credits it if it was
 * paid. Postpones it while the bank does not say which.
 */
export async function cancelOpening(gateway: Gateway, claim: Claim): Promise<void> {
  const removed = await removeAtBank(gateway, claim)
  if (removed === null) return postponeCharges([claim], nowPlusMs(RETRY_PAUSE_MS))
  if (removed !== 'gone') return creditOpening(claim, removed)
  await db().$executeRaw`
    DELETE FROM charges WHERE account_id = ${claim.accountId}::uuid AND id = ${claim.id}::uuid
      AND status = 'opening' AND lease = ${claim.lease}::uuid`
}

/** After a crash between the statements, the charge is pending, and its payment is found again. */
async function creditOpening(claim: Claim, { brCode = '', ...paid }: PaidState): Promise<void> {
  await db().$executeRaw`
    UPDATE charges SET status = 'pending', br_code = ${brCode}, updated_at = now()
    WHERE account_id = ${claim.accountId}::uuid AND id = ${claim.id}::uuid
      AND status = 'opening' AND lease = ${claim.lease}::uuid`
  await settleCharges([{ ...claim, ...paid, chargeId: claim.id }])
}

/**
 * Undoes an opening before a 503: nothing can be paid, and the merchant's reference is free. If the
 * bank may have the charge, its row stays for the worker to cancel.
 */
export async function undoOpening(
  { accountId, id, order, once }: NewCharge,
  mayExist: boolean,
): Promise<void> {
  const row = Prisma.sql`account_id = ${accountId}::uuid AND id = ${id}::uuid
    AND status = 'opening'`
  if (mayExist) {
    await db().$executeRaw`UPDATE charges SET external_id = ${order.txid} WHERE ${row}`
    if (once) {
      await db().$executeRaw`
        UPDATE idempotency_keys SET locked_until = now() WHERE ${keyCondition(once)}`
    }
    return
  }
  await db().$executeRaw`DELETE FROM charges WHERE ${row}`
  if (once) await db().$executeRaw`DELETE FROM idempotency_keys WHERE ${keyCondition(once)}`
}
