import { db } from '#lib/base/db/client.ts'
import { removeHyphens } from '#lib/base/ids.ts'
import { noteItem } from '#lib/services/house/inbox.ts'

/** Money of a payment that went back to the payer, as a bank reports it. */
export interface ReportedRefund {
  connectionId: string
  /** The payment that was returned. */
  endToEndId: string
  /** The id under which the refund was requested: one of ours without hyphens, or none of ours. */
  id: string
  /** `dispute`: the bank returned it itself, for a dispute that was lost (natureza MED_*). */
  cause: 'request' | 'dispute'
  amount: number
  at: Date
}

/**
 * Notes money that went back and that the books do not know in the inbox, once. It moves nothing: a person
 * decides who pays for it. The books know a refund of the same id and amount that was not rejected, also
 * of money in suspense, and what leaves, perhaps in parts, for a dispute that is not won. Returns whether
 * they know it.
 */
export async function noteForeignRefund(refund: ReportedRefund): Promise<boolean> {
  const { connectionId, endToEndId, id, cause, amount, at } = refund
  const charge = await findCharge(refund)
  const stored = charge?.refunds.find(one => removeHyphens(one.id) === id)
  const isKnown =
    cause === 'request'
      ? isSame(stored, amount) || isSame(await findReturn(refund), amount)
      : charge?.disputes.some(one => (one.lostAmount ?? one.amount) >= BigInt(amount))
  if (isKnown) return true
  const facts = {
    ...{ refund_id: id, end_to_end_id: endToEndId, cause, amount, returned_at: at.toISOString() },
    ...(charge && { account_id: charge.accountId, transaction_id: charge.id }),
    ...(stored && { stored_status: stored.status, stored_amount: Number(stored.amount) }),
  }
  const key = `${endToEndId} ${id}`
  await noteItem(db(), { connectionId, kind: 'refund_unknown', key, facts })
  return false
}

interface Stored {
  status: string
  amount: bigint
}

function isSame(stored: Stored | undefined, amount: number): boolean {
  return stored !== undefined && stored.status !== 'rejected' && stored.amount === BigInt(amount)
}

/** Finds an order of staff to give back a payment that paid no charge. */
async function findReturn({ connectionId, endToEndId, id }: ReportedRefund) {
  const returns = await db().receiptReturn.findMany({
    where: { receipt: { connectionId, endToEndId } },
    select: { id: true, status: true, amount: true },
  })
  return returns.find(one => removeHyphens(one.id) === id)
}

function findCharge({ connectionId, endToEndId }: ReportedRefund) {
  return db().charge.findFirst({
    where: { connectionId, endToEndId },
    select: {
      ...{ accountId: true, id: true },
      refunds: { select: { id: true, status: true, amount: true } },
      disputes: {
        where: { status: { not: 'won' } },
        select: { amount: true, lostAmount: true },
      },
    },
  })
}
