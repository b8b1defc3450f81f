import { recordAudit } from '#lib/audit/record.ts'
import {
  type BankRefusal,
  ENDED_UNSENT,
  type Rejection,
  rejectionAssignments,
} from '#lib/banks/gateway.ts'
import type { Mode } from '#lib/core/mode.ts'
import { cents } from '#lib/core/money.ts'
import { Prisma, type Tx, transaction } from '#lib/db/client.ts'
import { releaseUnmatched, resolveItem } from '#lib/differences/resolve.ts'
import { endOrderSql, type OrderKey, type OrderRules, type PeoplesEnd } from '#lib/orders/order.ts'

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
    transaction(tx =>
      reported.state === 'done'
        ? completeReturn(tx, order, reported.endToEndId, { lease })
        : rejectReturn(tx, order, reported, { lease }),
    ),
  endByPeople: (order, outcome, { tx, ...end }) =>
    outcome === 'sent'
      ? completeReturn(tx, order, null, end)
      : rejectReturn(tx, order, ENDED_UNSENT, end),
  // The order names no person, and the payer is unknown.
  hide: async () => ({}),
}

type End = { lease?: string | null } & Partial<Omit<PeoplesEnd, 'tx'>>

/**
 * Lets the money leave `unmatched` after the bank has returned it, and resolves the item in the name of who
 * ordered it. Does nothing if the order has ended or the lease was lost.
 */
async function completeReturn(
  tx: Tx,
  order: OrderKey,
  returnId: string | null,
  end: End,
): Promise<boolean> {
  const ended = await endReturn(tx, 'completed', Prisma.sql`return_id = ${returnId}`, {
    ended: endOrderSql(order, 'done', { bankId: returnId, ...end }),
  })
  if (!ended) return false
  const { paymentId, itemId, mode, amount, requestedBy, reason } = ended
  const actor = requestedBy
    ? ({ type: 'user', id: requestedBy } as const)
    : ({ type: 'command_line' } as const)
  await releaseUnmatched(tx, paymentId, 'give_back')
  await resolveItem(tx, { itemId, reason, actor }, 'give_back', { mode, amount: cents(amount) })
  return true
}

/** Ends an order that was not sent: the money stays unmatched, and the item open. */
async function rejectReturn(
  tx: Tx,
  order: OrderKey,
  reason: Rejection | BankRefusal,
  end: End,
): Promise<boolean> {
  const ended = await endReturn(tx, 'rejected', rejectionAssignments(reason), {
    ended: endOrderSql(order, 'refused', end),
  })
  if (!ended) return false
  const { itemId, mode, amount } = ended
  const actor = { type: 'system' } as const
  const after = { mode, amount: cents(amount), code: reason.code }
  await recordAudit(tx, { actor, action: 'difference.return_rejected', target: itemId, after })
  return true
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
