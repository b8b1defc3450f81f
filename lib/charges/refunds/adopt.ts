import type { Booked, Restored } from '#lib/banks/closures.ts'
import type { TakenOrder } from '#lib/banks/lists.ts'
import { createRefund } from '#lib/charges/refunds/create.ts'
import { completeRefund } from '#lib/charges/refunds/order.ts'
import { isTrocoError } from '#lib/core/errors.ts'
import { OPERATOR_ACCOUNT_ID, toUuid } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { type Held, holdOrder, releaseOrder } from '#lib/differences/differences.ts'

/**
 * Books a refund that the bank has taken and the restored books may lack. If it is missing, one of the same
 * amount that was requested since the restore takes its place; else it is written again, and its amount leaves the
 * account. What can be charged to no account is held among the differences. Called again, it does nothing.
 */
export async function adoptRefund(
  { connectionId, begunAt }: Restored,
  order: TakenOrder,
): Promise<Booked> {
  const hold = (cause: Held['cause'], accountId: string | null = null) =>
    holdOrder('refund_unbooked', connectionId, order, { cause, accountId })
  const release = () => releaseOrder('refund_unbooked', connectionId, order)
  const { endToEndId, amount, isDone } = order
  const id = toUuid(order.id)
  if (await isReturn(id)) return release()
  const charge = await db().charge.findFirst({ where: { connectionId, endToEndId, mode: 'live' } })
  if (!charge) return isDone ? hold('charge_unknown') : 'unsettled'
  const { accountId, id: chargeId } = charge
  const complete = (refundId: string) =>
    completeRefund({ accountId, refundId, returnId: order.returnId ?? order.id })
  const known = await findKnown(accountId, chargeId, id, order)
  if (known) {
    if (known.status === 'rejected' || known.amount !== BigInt(amount))
      return hold('contradicted', accountId)
    const isDue = isDone && known.status === 'pending'
    return isDue && !(await complete(known.id)) ? 'unsettled' : release()
  }
  if (!isDone) return 'unsettled'
  const [repeated] = await db().$queryRaw<{ id: string }[]>`
    SELECT r.id FROM refunds r JOIN bank_orders o USING (account_id, id)
    WHERE r.account_id = ${accountId}::uuid AND r.charge_id = ${chargeId}::uuid AND r.status = 'pending'
      AND o.attempts = 0 AND r.amount = ${amount}::bigint AND r.created_at >= ${begunAt}::timestamptz
    ORDER BY r.id LIMIT 1`
  const made = repeated ?? (await create(accountId, chargeId, { id, amount }))
  if (typeof made === 'string') return hold(made, accountId)
  return (await complete(made.id)) ? release() : 'unsettled'
}

async function create(
  accountId: string,
  chargeId: string,
  { id, amount }: { id: string; amount: number },
): Promise<{ id: string } | 'balance' | 'not_refundable'> {
  try {
    return await createRefund(accountId, 'live', chargeId, { amount, by: null, id })
  } catch (error) {
    if (!isTrocoError(error)) throw error
    return error.code === 'insufficient_balance' ? 'balance' : 'not_refundable'
  }
}

interface Known {
  accountId: string
  id: string
  status: string
  amount: bigint
}

/** An unmatched payment is given back under an id of its own, and asked about by it. */
async function isReturn(id: string): Promise<boolean> {
  const where = { accountId: OPERATOR_ACCOUNT_ID, id }
  return (await db().unmatchedReturn.count({ where })) > 0
}

/** By the id of the order, or by the bank's, which a repeated refund may have taken. */
function findKnown(
  accountId: string,
  chargeId: string,
  id: string,
  { returnId }: TakenOrder,
): Promise<Known | null> {
  const OR = [{ id }, ...(returnId === null ? [] : [{ returnId }])]
  return db().refund.findFirst({ where: { accountId, chargeId, OR } })
}
