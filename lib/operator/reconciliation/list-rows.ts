import type { ReceivedPayment } from '#lib/banks/gateway.ts'
import type { SentPayout } from '#lib/banks/lists.ts'
import { dayOf } from '#lib/core/locale.ts'
import type { BankRow } from '#lib/operator/reconciliation/schema.ts'
import { withoutNulls } from '#lib/operator/reconciliation/statement-rows.ts'

/** Returns the rows of lists of a day, each payment once: pages may repeat it. */
export function rowsOfLists(
  day: string,
  payments: ReceivedPayment[],
  payouts: SentPayout[],
): BankRow[] {
  const rows = [
    ...payments.map(({ endToEndId, amount, paidAt: at, txid }) => ({
      ...{ what: isReturn(endToEndId) ? ('payout_return' as const) : ('payment' as const) },
      ...{ keys: [endToEndId], amount, at, payment: isReturn(endToEndId) ? null : endToEndId },
      facts: withoutNulls({ end_to_end_id: endToEndId, txid }),
    })),
    ...payouts
      .filter(({ isFailed }) => !isFailed)
      .flatMap(({ id, endToEndId, amount, sentAt, returns }) => [
        {
          ...{ what: 'payout' as const, amount: 0 - amount, at: sentAt },
          keys: id === null ? [endToEndId] : [id.replaceAll('-', ''), endToEndId],
          payment: endToEndId,
          facts: withoutNulls({ end_to_end_id: endToEndId, order_id: id }),
        },
        ...returns.map(({ id: returnId, amount: part, returnedAt }) => ({
          ...{ what: 'payout_return' as const, keys: [returnId], amount: part, at: returnedAt },
          facts: { end_to_end_id: endToEndId, return_id: returnId },
        })),
      ]),
  ]
  const ofDay = rows.filter(({ at }) => dayOf(at) === day)
  return [...new Map(ofDay.map(row => [`${row.what} ${row.keys[0]}`, row])).values()]
}

/** Ids of payments that came back begin with D. */
function isReturn(endToEndId: string): boolean {
  return endToEndId.startsWith('D')
}
