import type { StatementEntry, StatementEntryKind } from '#lib/banks/statement.ts'
import type { BankRow, What } from '#lib/operator/reconciliation/schema.ts'

const WHATS: Record<StatementEntryKind, What> = {
  payment: 'payment',
  payment_fee: 'fee',
  payment_fee_reversal: 'fee_return',
  refund: 'refund',
  payout: 'payout',
  payout_reversal: 'reversal',
  payout_return: 'payout_return',
  payout_fee: 'fee',
  payout_fee_reversal: 'fee_return',
  transfer_received: 'transfer',
  transfer_sent: 'transfer',
  transfer_reversal: 'transfer',
  transfer_fee: 'fee',
  transfer_fee_reversal: 'fee_return',
}

/** Returns the rows of a statement. An entry without an id is named by its time and amount. */
export function rowsOfStatement(day: string, entries: StatementEntry[]): BankRow[] {
  const feeCounts = new Map<string, number>()
  return entries.map(entry => {
    const { kind, amount, at, endToEndId, returnId, orderId, txid } = entry
    const what = WHATS[kind]
    const keys = keysOf(what, entry)
    return {
      ...{ what, amount, at, payment: endToEndId },
      keys: what.startsWith('fee') ? [feeKey(day, kind, keys[0] ?? '', feeCounts)] : keys,
      facts: withoutNulls({
        ...{ kind, end_to_end_id: endToEndId, return_id: returnId, order_id: orderId, txid },
      }),
    }
  })
}

function keysOf(what: What, entry: StatementEntry): string[] {
  const { amount, at, endToEndId, returnId, orderId } = entry
  const ids = {
    ...{ payment: [endToEndId], payout_return: [returnId], reversal: [endToEndId] },
    // A payment may have many refunds, and is not their name.
    refund: [orderId, returnId, endToEndId && `dispute ${endToEndId}`],
    ...{ payout: [orderId, endToEndId], transfer: [orderId, endToEndId] },
    ...{ fee: [endToEndId, orderId], fee_return: [endToEndId, orderId] },
  }[what]
  const known = ids.flatMap(id => id || [])
  return known.length > 0 ? known : [`${at.toISOString()} ${amount}`]
}

/** A fee has no id of its own: the day, what it is about, and which of several about the same it is. */
function feeKey(day: string, kind: string, about: string, counts: Map<string, number>): string {
  const name = `${day} ${kind} ${about}`
  const count = (counts.get(name) ?? 0) + 1
  counts.set(name, count)
  return count === 1 ? name : `${name} #${count}`
}

export function withoutNulls(facts: Record<string, string | null>): Record<string, string> {
  const known = Object.entries(facts).filter(([, value]) => value !== null && value !== '')
  return Object.fromEntries(known) as Record<string, string>
}
