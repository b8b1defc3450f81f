import { recordAudit } from '#lib/audit/record.ts'
import { type BankRefusal, rejectionAssignments } from '#lib/banks/rejection.ts'
import type { Mode } from '#lib/core/mode.ts'
import { cents } from '#lib/core/money.ts'
import { Prisma, type Tx } from '#lib/db/client.ts'
import { transaction } from '#lib/db/transaction.ts'
import { releaseUnmatched, resolveItem } from '#lib/differences/resolve.ts'
import { endOrderSql, type OrderKey, type OrderRules } from '#lib/orders/order.ts'

interface EndedReturn {
  paymentId: string
  itemId: string
  mode: Mode
  amount: bigint
  requestedBy: string | null
  reason: string
}

/** What returns of unmatched payments contribute to sending orders: lib/orders. */
export const returnOrders: OrderRules = {
  end: (order, reported, lease) =>
    reported.state === 'done'
      ? completeReturn(order, reported.endToEndId, lease)
      : rejectReturn(order, reported, lease),
  // The order names no person, and the payer is unknown.
  hide: async () => ({}),
}

/**
 * Lets the money leave `unmatched` after the bank has returned it, and resolves the item in the name of who
 * ordered it. Does nothing if the order has ended or the lease was lost.
 */
function completeReturn(order: OrderKey, returnId: string, lease: string | null): Promise<boolean> {
  return transaction(async tx => {
    const ended = await endReturn(tx, 'completed', Prisma.sql`return_id = ${returnId}`, {
      ended: endOrderSql(order, 'done', { bankId: returnId, lease }),
    })
    if (!ended) return false
    const { paymentId, itemId, mode, amount, requestedBy, reason } = ended
    const actor = requestedBy
      ? ({ type: 'user', id: requestedBy } as const)
      : ({ type: 'command_line' } as const)
    await releaseUnmatched(tx, paymentId, 'give_back')
    await resolveItem(tx, { itemId, reason, actor }, 'give_back', { mode, amount: cents(amount) })
    return true
  })
}

/** Ends an order that the bank refused for good: the money stays unmatched, and the item open. */
function rejectReturn(
  order: OrderKey,
  reason: BankRefusal,
  lease: string | null,
): Promise<boolean> {
  return transaction(async tx => {
    const ended = await endReturn(tx, 'rejected', rejectionAssignments(reason), {
      ended: endOrderSql(order, 'refused', { lease }),
    })
    if (!ended) return false
    const { itemId, mode, amount } = ended
    const actor = { type: 'system' } as const
    const after = { mode, amount: cents(amount), code: reason.code }
    await recordAudit(tx, { actor, action: 'difference.return_rejected', target: itemId, after })
    return true
  })
}

async function endReturn(
  tx: Tx,
  outcome: 'completed' | 'rejected',
  assignments: Prisma.Sql,
  { ended }: { ended: Prisma.Sql },
): Promise<EndedReturn | null> {
  const [row] = await tx.$queryRaw<EndedReturn[]>`
    WITH ended AS (${ended})
    UPDATE unmatched_returns r SET status = ${outcome}, ${assignments},
      ${Prisma.raw(`${outcome}_at`)} = now(), updated_at = now()
    FROM ended e WHERE r.account_id = e.account_id AND r.id = e.id
    RETURNING r.payment_id AS "paymentId", r.item_id AS "itemId", r.mode, r.amount,
      r.requested_by AS "requestedBy", r.reason`
  return row ?? null
}
