import type { Claim } from '#lib/base/db/claim.ts'
import { db, Prisma } from '#lib/base/db/client.ts'
import { keyCondition } from '#lib/base/db/idempotency.ts'
import { removeHyphens } from '#lib/base/ids.ts'
import type { NewCharge } from '#lib/rooms/charges/insert.ts'
import type { Gateway } from '#lib/services/gateway/gateway.ts'
import { withJournal } from '#lib/services/gateway/journal.ts'

/** Cancels an unfinished opening and deletes it. Returns false if it must be retried. */
export async function cancelOpening(gateway: Gateway, claim: Claim): Promise<boolean> {
  const result = await withJournal(gateway, [claim]).cancelCharge(removeHyphens(claim.id))
  if (result.outcome === 'retryable' || result.outcome === 'unknown') return false
  await db().$executeRaw`
    DELETE FROM charges WHERE account_id = ${claim.accountId}::uuid AND id = ${claim.id}::uuid
      AND status = 'opening' AND lease = ${claim.lease}::uuid`
  return true
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
