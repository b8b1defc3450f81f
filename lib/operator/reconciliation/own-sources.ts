import { Prisma } from '#lib/db/client.ts'
import type { OwnSource } from '#lib/operator/reconciliation/schema.ts'

/** SQL of an id as banks have it, without hyphens. */
const bare = (column: string) => Prisma.raw(`replace(${column}::text, '-', '')`)

const byPayment = (keys: string[], connectionId: string) => Prisma.sql`
  b.end_to_end_id = ANY (${[...keys, ...keys.map(key => `${connectionId} ${key}`)]}::text[])`

export const PAYOUTS: OwnSource = {
  ...{ what: 'payout', movement: 'withdrawal_sent', sign: -1 },
  from: Prisma.sql`withdrawals s`,
  byKeys: keys => Prisma.sql`s.end_to_end_id = ANY (${keys}::text[])`,
  keys: Prisma.sql`ARRAY[${bare('s.id')}, s.end_to_end_id, s.other_end_to_end_id]`,
  rejected: Prisma.sql`s.status = 'rejected'`,
  facts: Prisma.sql`'withdrawal_id', s.id, 'account_id', s.account_id, 'status', s.status,
    'end_to_end_id', s.end_to_end_id`,
}

export const OWN_SOURCES: OwnSource[] = [
  {
    ...{ what: 'payment', movement: 'charge_paid', sign: 1 },
    // Without charges that were paid from `unmatched`: that payment is counted as a payment.
    from: Prisma.sql`(SELECT * FROM charges p WHERE NOT EXISTS (SELECT FROM unmatched_resolutions x
      WHERE x.to_account_id = p.account_id AND x.charge_id = p.id)) s`,
    byKeys: keys => Prisma.sql`s.end_to_end_id = ANY (${keys}::text[])`,
    keys: Prisma.sql`ARRAY[s.end_to_end_id]`,
    facts: Prisma.sql`'transaction_id', s.id, 'account_id', s.account_id, 'txid', s.txid,
      'end_to_end_id', s.end_to_end_id`,
  },
  {
    ...{ what: 'payment', movement: 'unmatched_received', sign: 1 },
    from: Prisma.sql`booked_payments b
      JOIN unmatched_payments s ON s.account_id = b.account_id AND s.id = b.subject_id`,
    byKeys: byPayment,
    keys: Prisma.sql`ARRAY[s.end_to_end_id]`,
    facts: Prisma.sql`'payment_id', s.id, 'reason', s.reason, 'end_to_end_id', s.end_to_end_id`,
  },
  {
    ...{ what: 'payout_return', movement: 'payout_returned', sign: 1 },
    from: Prisma.sql`booked_payments b
      JOIN payout_returns s ON s.account_id = b.account_id AND s.id = b.subject_id`,
    byKeys: byPayment,
    keys: Prisma.sql`ARRAY[s.return_id]`,
    facts: Prisma.sql`'withdrawal_id', s.withdrawal_id, 'account_id', s.account_id,
      'return_id', s.return_id`,
  },
  PAYOUTS,
  {
    ...{ what: 'refund', movement: 'refund_sent', sign: -1 },
    from: Prisma.sql`refunds s
      JOIN charges c ON c.account_id = s.account_id AND c.id = s.charge_id`,
    byKeys: keys => Prisma.sql`c.end_to_end_id = ANY (${keys}::text[])`,
    keys: Prisma.sql`ARRAY[${bare('s.id')}, s.return_id, c.end_to_end_id]`,
    rejected: Prisma.sql`s.status = 'rejected'`,
    facts: Prisma.sql`'refund_id', s.id, 'transaction_id', c.id, 'account_id', s.account_id,
      'status', s.status, 'end_to_end_id', c.end_to_end_id`,
  },
  {
    ...{ what: 'refund', movement: 'unmatched_released', sign: -1 },
    // One movement per payment, of the order that the bank did not refuse.
    from: Prisma.sql`(SELECT r.account_id, r.payment_id AS id, r.id AS order_id, r.return_id, r.amount,
        p.end_to_end_id
      FROM unmatched_returns r JOIN unmatched_payments p ON p.account_id = r.account_id AND p.id = r.payment_id
      WHERE r.status <> 'rejected') s`,
    byKeys: keys => Prisma.sql`s.end_to_end_id = ANY (${keys}::text[])`,
    keys: Prisma.sql`ARRAY[${bare('s.order_id')}, s.return_id, s.end_to_end_id]`,
    facts: Prisma.sql`'payment_id', s.id, 'return_id', s.return_id, 'end_to_end_id', s.end_to_end_id`,
  },
  {
    ...{ what: 'refund', movement: 'payment_returned', sign: -1 },
    // Each as one movement, also if a part was owed or taken by a lost dispute.
    from: Prisma.sql`payment_returns s`,
    booked: Prisma.sql`JOIN payment_returns t ON t.account_id = s.account_id AND t.id = s.id`,
    byKeys: keys => Prisma.sql`s.end_to_end_id = ANY (${keys}::text[])`,
    keys: Prisma.sql`ARRAY[s.return_id, s.order_id]`,
    facts: Prisma.sql`'transaction_id', s.charge_id, 'payment_id', s.payment_id, 'account_id', s.account_id,
      'return_id', s.return_id, 'end_to_end_id', s.end_to_end_id`,
  },
  {
    ...{ what: 'refund', movement: 'dispute_lost', sign: -1 },
    // Without what the bank has listed as returns.
    from: Prisma.sql`disputes s
      JOIN charges c ON c.account_id = s.account_id AND c.id = s.charge_id
      JOIN LATERAL (SELECT LEAST(s.lost_amount - s.returned_amount,
          (SELECT sum(o.lost_amount - o.returned_amount) FROM disputes o
            WHERE o.account_id = s.account_id AND o.charge_id = s.charge_id AND o.id <= s.id)
          - (SELECT COALESCE(sum(k.disputed_amount), 0) FROM payment_returns k
            WHERE k.account_id = s.account_id AND k.charge_id = s.charge_id)) AS amount) l ON l.amount > 0`,
    amount: Prisma.sql`l.amount`,
    byKeys: keys => Prisma.sql`c.end_to_end_id = ANY (${keys}::text[]) AND s.status = 'lost'`,
    keys: Prisma.sql`ARRAY['dispute ' || c.end_to_end_id]`,
    facts: Prisma.sql`'dispute_id', s.id, 'transaction_id', c.id, 'account_id', s.account_id,
      'end_to_end_id', c.end_to_end_id`,
  },
]
