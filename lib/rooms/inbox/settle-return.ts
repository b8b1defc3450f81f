import { recordAudit } from '#lib/base/audit/record.ts'
import type { Claim } from '#lib/base/db/claim.ts'
import { Prisma, type Tx } from '#lib/base/db/client.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import type { Mode } from '#lib/base/mode.ts'
import { cents } from '#lib/base/money.ts'
import { type BankRefusal, rejectionAssignments } from '#lib/services/gateway/rejection.ts'
import { releaseReceipt, resolveItem } from '#lib/services/house/settle.ts'

interface EndedReturn {
  receiptId: string
  itemId: string
  mode: Mode
  amount: bigint
  requestedBy: string | null
  reason: string
}

/**
 * Lets the money leave suspense after the bank has returned it, and resolves the item in the name of who
 * ordered it. Does nothing if the order has ended or the lease was lost.
 */
export function completeReturn(claim: Claim, returnId: string): Promise<void> {
  return transaction(async tx => {
    const ended = await endReturn(tx, claim, 'completed', Prisma.sql`return_id = ${returnId}`)
    if (!ended) return
    const { receiptId, itemId, mode, amount, requestedBy, reason } = ended
    const actor = requestedBy
      ? ({ type: 'user', id: requestedBy } as const)
      : ({ type: 'command_line' } as const)
    await releaseReceipt(tx, receiptId, 'give_back')
    await resolveItem(tx, { itemId, reason, actor }, 'give_back', { mode, amount: cents(amount) })
  })
}

/** Ends an order that the bank refused for good: the money stays in suspense, and the item open. */
export function rejectReturn(claim: Claim, reason: BankRefusal): Promise<void> {
  return transaction(async tx => {
    const ended = await endReturn(tx, claim, 'rejected', rejectionAssignments(reason))
    if (!ended) return
    const { itemId, mode, amount } = ended
    const actor = { type: 'system' } as const
    const after = { mode, amount: cents(amount), code: reason.code }
    await recordAudit(tx, { actor, action: 'inbox.return_rejected', target: itemId, after })
  })
}

async function endReturn(
  tx: Tx,
  { accountId, id, lease }: Claim,
  outcome: 'completed' | 'rejected',
  assignments: Prisma.Sql,
): Promise<EndedReturn | null> {
  const [row] = await tx.$queryRaw<EndedReturn[]>`
    UPDATE receipt_returns SET status = ${outcome}, ${assignments}, due_at = NULL, lease = NULL,
      ${Prisma.raw(`${outcome}_at`)} = now(), updated_at = now()
    WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid AND status = 'pending'
      AND lease = ${lease}::uuid
    RETURNING receipt_id AS "receiptId", item_id AS "itemId", mode, amount,
      requested_by AS "requestedBy", reason`
  return row ?? null
}
