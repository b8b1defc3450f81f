import { personOf, recordAudit } from '#lib/audit/record.ts'
import { refuse } from '#lib/core/errors.ts'
import { newRoutableId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { isPastRefund, REFUND_WINDOW_DAYS } from '#lib/core/pix/refund-window.ts'
import { Prisma, transaction } from '#lib/db/client.ts'
import { wake } from '#lib/db/wake.ts'
import { type Decision, lockUnmatched } from '#lib/differences/resolve.ts'
import { insertOrderSql } from '#lib/orders/order.ts'

/**
 * Orders the bank to give the money of an item back to its payer. The order is stored before the bank is
 * called; the money stays unmatched, and the item open, until the bank has returned it. Meanwhile every
 * other entry is refused, and so is a second order. After the Pix window, no bank would take the order.
 */
export async function giveBack(decision: Decision): Promise<{ id: string }> {
  const id = newRoutableId(OPERATOR_ACCOUNT_ID)
  const { itemId, reason, actor } = decision
  await transaction(async tx => {
    const payment = await lockUnmatched(tx, itemId, 'give_back')
    const { id: paymentId, mode, connectionId, amount, paidAt, endToEndId } = payment
    if (isPastRefund(paidAt)) throw refuse('refund_window_closed', { days: REFUND_WINDOW_DAYS })
    await tx.$executeRaw`
      WITH made AS (
        INSERT INTO unmatched_returns (account_id, id, payment_id, item_id, mode, connection_id, status,
          amount, requested_by, reason)
        VALUES (${OPERATOR_ACCOUNT_ID}::uuid, ${id}::uuid, ${paymentId}::uuid, ${itemId}::uuid, ${mode},
          ${connectionId}::uuid, 'pending', ${amount}::bigint, ${personOf(actor)}::uuid, ${reason})
        RETURNING *)
      ${insertOrderSql(['return', 'refund'], Prisma.sql`made s`, { target: Prisma.sql`${endToEndId}` })}`
    const after = { mode, amount }
    await recordAudit(tx, {
      actor,
      action: 'difference.return_ordered',
      target: itemId,
      reason,
      after,
    })
  })
  wake('orders')
  return { id }
}
