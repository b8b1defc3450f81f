import { db } from '#lib/base/db/client.ts'
import { removeHyphens } from '#lib/base/ids.ts'
import { noteItem } from '#lib/services/house/inbox.ts'

/** A refund as a bank reports it, whoever requested it. */
export interface ReportedRefund {
  connectionId: string
  /** The payment that was returned. */
  endToEndId: string
  /** The id under which the refund was requested: one of ours without hyphens, or none of ours. */
  id: string
  amount: number
  at: Date
}

/**
 * Notes a refund that was made at the bank and not by Troco in the inbox, once. It moves nothing: a person
 * decides who pays for it. Returns whether the refund is one of ours.
 */
export async function noteForeignRefund(refund: ReportedRefund): Promise<boolean> {
  const { connectionId, endToEndId, id, amount, at } = refund
  const charge = await db().charge.findFirst({
    where: { connectionId, endToEndId },
    select: { accountId: true, id: true, refunds: { select: { id: true } } },
  })
  if (charge?.refunds.some(one => removeHyphens(one.id) === id)) return true
  const facts = {
    ...{
      refund_id: id,
      end_to_end_id: endToEndId,
      amount,
      returned_at: at.toISOString(),
    },
    ...(charge && { account_id: charge.accountId, transaction_id: charge.id }),
  }
  await noteItem(db(), {
    connectionId,
    kind: 'refund_unknown',
    key: `${endToEndId} ${id}`,
    facts,
  })
  return false
}
