import { transaction } from '#lib/base/db/transaction.ts'
import { noteItem, resolveItem } from '#lib/services/house/inbox.ts'

/** An order as a bank lists it. */
interface Listed {
  id: string
  endToEndId: string | null
  amount: number
  orderedAt: Date
}

type HeldKind = 'payout_unbooked' | 'refund_unbooked'

export interface Held {
  /**
   * account_unknown: of none of these accounts, or of one of several. balance: more than the account has.
   * contradicted: the books say that it failed, or of another amount. charge_unknown: a refund of no charge.
   * not_refundable: more than is left of the charge, or too late. unreadable: without an amount or time.
   */
  cause:
    | ('account_unknown' | 'balance' | 'contradicted' | 'charge_unknown')
    | ('not_refundable' | 'unreadable')
  accountId: string | null
}

/** Holds what a bank has sent and no account could be charged with. Money out stays closed while it is open. */
export async function holdOrder(
  kind: HeldKind,
  connectionId: string,
  { id: key, endToEndId, amount, orderedAt }: Listed,
  { cause, accountId }: Held,
): Promise<'held'> {
  const facts = {
    ...{ cause, account_id: accountId, order_id: key, end_to_end_id: endToEndId, amount },
    ...{ mode: 'live', ordered_at: orderedAt.toISOString() },
  }
  await transaction(tx => noteItem(tx, { connectionId, kind, key, facts }))
  return 'held'
}

export async function holdUnread(
  kind: HeldKind,
  connectionId: string,
  { key, sent }: { key: string; sent: string },
): Promise<void> {
  const facts = { cause: 'unreadable', order_id: key, mode: 'live', sent }
  await transaction(tx => noteItem(tx, { connectionId, kind, key, facts }))
}

/** Resolves the item of an order that is booked, if there is one. */
export async function releaseOrder(
  kind: HeldKind,
  connectionId: string,
  { id: key }: Pick<Listed, 'id'>,
): Promise<'booked'> {
  await resolveItem({ connectionId, kind, key })
  return 'booked'
}
