import { db, type Tx } from '#lib/base/db/client.ts'
import type { Mode } from '#lib/base/mode.ts'
import type { DisputeReport } from '#lib/rooms/charges/disputes/schema.ts'
import { noteItem } from '#lib/services/house/inbox.ts'
import { lockAvailable } from '#lib/services/ledger/owed.ts'

/** Returns the charge that the disputed payment has paid; null after a note in the inbox. */
export async function findDisputedCharge(report: DisputeReport) {
  const { connectionId, endToEndId, amount } = report
  const charge = await db().charge.findFirst({
    where: { connectionId, endToEndId, status: 'paid' },
    select: { accountId: true, id: true, mode: true, amount: true },
  })
  if (charge && charge.amount >= BigInt(amount)) return { ...charge, mode: charge.mode as Mode }
  await noteDispute(db(), 'dispute_unmatched', report)
  return null
}

/**
 * Locks the charge, so that its disputes are booked in turn, then the available balance, so that what the account
 * owes is the same in all statements of the transaction.
 */
export async function lockDisputed(
  tx: Tx,
  { accountId, id, mode }: { accountId: string; id: string; mode: Mode },
): Promise<void> {
  await tx.$queryRaw`
    SELECT FROM charges WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid FOR UPDATE`
  await lockAvailable(tx, accountId, mode)
}

export function noteDispute(
  tx: Tx,
  kind: 'dispute_unmatched' | 'dispute_contradicted',
  { connectionId, bankId, endToEndId, amount }: DisputeReport,
): Promise<void> {
  const facts = { dispute_id: bankId, end_to_end_id: endToEndId, amount }
  return noteItem(tx, { connectionId, kind, key: bankId, facts })
}
