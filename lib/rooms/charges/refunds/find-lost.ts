import { db } from '#lib/base/db/client.ts'
import { HOUSE_ACCOUNT_ID } from '#lib/base/ids.ts'
import type { TakenOrder } from '#lib/services/gateway/lists.ts'

interface Known {
  accountId: string
  id: string
  status: string
  amount: bigint
}

/** Money of the inbox and of tries is given back under ids of their own, and asked about by them. */
export async function isElsewhere(id: string): Promise<boolean> {
  const [returns, tries] = await Promise.all([
    db().receiptReturn.count({ where: { accountId: HOUSE_ACCOUNT_ID, id } }),
    db().bankTry.count({ where: { refundId: id } }),
  ])
  return returns + tries > 0
}

/** By the id of the order, or by the bank's, which a repeated refund may have taken. */
export function findKnown(
  accountId: string,
  chargeId: string,
  id: string,
  { returnId }: TakenOrder,
): Promise<Known | null> {
  const OR = [{ id }, ...(returnId === null ? [] : [{ returnId }])]
  return db().refund.findFirst({ where: { accountId, chargeId, OR } })
}
