import { Prisma } from '#lib/base/db/client.ts'

export interface InvariantCheck {
  invariant: string
  violationSql: (accountCondition: Prisma.Sql) => Prisma.Sql
}

/** Invariants between the ledger and the rows of what was booked. */
export const ROW_INVARIANTS: InvariantCheck[] = [
  {
    invariant: 'the held amount equals the pending withdrawals and refunds',
    violationSql: accountCondition => Prisma.sql`
      SELECT t.account_id, t.mode, 'outbound balance' AS place FROM ledger_accounts t
      WHERE ${accountCondition} AND t.ledger = 'outbound' AND t.balance <>
        COALESCE((SELECT sum(amount) FROM withdrawals w
          WHERE w.account_id = t.account_id AND w.mode = t.mode AND w.status = 'pending'), 0)
        + COALESCE((SELECT sum(amount) FROM refunds r
          WHERE r.account_id = t.account_id AND r.mode = t.mode AND r.status = 'pending'), 0)
      ORDER BY t.account_id, t.mode LIMIT 1`,
  },
  {
    invariant: 'exactly the paid charges were credited, each with its amount',
    violationSql: accountCondition => Prisma.sql`
      SELECT t.account_id, t.mode, 'charge ' || t.id AS place FROM charges t
      LEFT JOIN ledger_transfers x
        ON x.account_id = t.account_id AND x.kind = 'charge_paid' AND x.subject_id = t.id
      WHERE ${accountCondition} AND t.status = 'paid'
        AND (x.amount, x.mode) IS DISTINCT FROM (t.amount, t.mode)
      UNION ALL
      SELECT t.account_id, t.mode, 'transfer charge_paid of ' || t.subject_id
      FROM ledger_transfers t
      LEFT JOIN charges c ON c.account_id = t.account_id AND c.id = t.subject_id
      WHERE ${accountCondition} AND t.kind = 'charge_paid' AND c.status IS DISTINCT FROM 'paid'
      ORDER BY account_id, mode, place LIMIT 1`,
  },
  {
    invariant:
      'every withdrawal and refund was held once, then sent or returned according to its status',
    violationSql: accountCondition => Prisma.sql`
      ${wrongOutgoingSql('withdrawal', 'approved', accountCondition)}
      UNION ALL
      ${wrongOutgoingSql('refund', 'completed', accountCondition)}
      ORDER BY account_id, mode, place LIMIT 1`,
  },
  {
    invariant: 'every transfer of a payment names the connection of its charge or withdrawal',
    violationSql: accountCondition => Prisma.sql`
      SELECT t.account_id, t.mode, 'transfer ' || t.kind || ' of ' || t.subject_id AS place
      FROM ledger_transfers t JOIN (
        SELECT c.account_id, c.id, 'charge_paid' AS kind, c.connection_id FROM charges c
        UNION ALL
        SELECT w.account_id, w.id, 'withdrawal_sent', w.connection_id FROM withdrawals w
        UNION ALL
        SELECT b.account_id, b.id, 'payout_returned', b.connection_id FROM payout_returns b
        UNION ALL
        SELECT r.account_id, r.id, 'refund_sent', c.connection_id FROM refunds r
        JOIN charges c ON c.account_id = r.account_id AND c.id = r.charge_id) s
        ON s.account_id = t.account_id AND s.kind = t.kind AND s.id = t.subject_id
      WHERE ${accountCondition} AND t.connection_id IS DISTINCT FROM s.connection_id
      ORDER BY t.account_id, t.mode, place LIMIT 1`,
  },
  {
    invariant: 'every withdrawal stores what came back of it, and each return was credited once',
    violationSql: accountCondition => Prisma.sql`
      SELECT t.account_id, t.mode, 'withdrawal ' || t.id AS place FROM withdrawals t
      LEFT JOIN payout_returns b ON b.account_id = t.account_id AND b.withdrawal_id = t.id
      LEFT JOIN ledger_transfers x
        ON x.account_id = b.account_id AND x.kind = 'payout_returned' AND x.subject_id = b.id
      WHERE ${accountCondition} GROUP BY t.account_id, t.id
      HAVING t.returned_amount <> COALESCE(sum(b.amount), 0)
        OR bool_or(b.id IS NOT NULL AND (x.amount, x.mode) IS DISTINCT FROM (b.amount, t.mode))
      UNION ALL
      SELECT t.account_id, t.mode, 'transfer payout_returned of ' || t.subject_id
      FROM ledger_transfers t
      LEFT JOIN payout_returns b ON b.account_id = t.account_id AND b.id = t.subject_id
      WHERE ${accountCondition} AND t.kind = 'payout_returned' AND b.id IS NULL
      ORDER BY account_id, mode, place LIMIT 1`,
  },
  {
    invariant:
      'exactly the receipts were moved to suspense, each with its amount, and only matched ones pay charges',
    violationSql: accountCondition => Prisma.sql`
      SELECT t.account_id, t.mode, 'receipt ' || t.id AS place FROM receipts t
      LEFT JOIN ledger_transfers x
        ON x.account_id = t.account_id AND x.kind = 'receipt_suspended' AND x.subject_id = t.id
      WHERE ${accountCondition}
        AND ((x.amount, x.mode, x.connection_id) IS DISTINCT FROM (t.amount, t.mode, t.connection_id)
          -- LIMIT keeps a look-up per receipt: a join would read all charges.
          OR (SELECT c.id FROM charges c WHERE c.end_to_end_id = t.end_to_end_id LIMIT 1)
            IS DISTINCT FROM (SELECT s.charge_id FROM receipt_settlements s
              WHERE s.account_id = t.account_id AND s.receipt_id = t.id))
      UNION ALL
      SELECT t.account_id, t.mode, 'transfer receipt_suspended of ' || t.subject_id
      FROM ledger_transfers t
      LEFT JOIN receipts r ON r.account_id = t.account_id AND r.id = t.subject_id
      WHERE ${accountCondition} AND t.kind = 'receipt_suspended' AND r.id IS NULL
      ORDER BY account_id, mode, place LIMIT 1`,
  },
  {
    invariant:
      'every claimed payment is a paid charge, a receipt, a return or that of a try, with its id',
    violationSql: accountCondition => Prisma.sql`
      SELECT t.account_id, CASE n.kind WHEN 'simulator' THEN 'test' ELSE 'live' END AS mode,
        'payment ' || t.end_to_end_id AS place
      FROM booked_payments t LEFT JOIN connections n ON n.id = t.connection_id
      LEFT JOIN (
        SELECT c.account_id, c.id, c.connection_id, c.end_to_end_id FROM charges c
        WHERE c.status = 'paid'
        UNION ALL
        SELECT r.account_id, r.id, r.connection_id, r.end_to_end_id FROM receipts r
        UNION ALL
        SELECT b.account_id, b.id, b.connection_id, b.return_id FROM payout_returns b
        UNION ALL
        SELECT y.account_id, y.id, y.connection_id, y.end_to_end_id FROM bank_tries y) s
        ON s.account_id = t.account_id AND s.id = t.subject_id AND s.connection_id = t.connection_id
          AND t.end_to_end_id IN (s.end_to_end_id, s.connection_id || ' ' || s.end_to_end_id)
      WHERE ${accountCondition} AND s.id IS NULL
      ORDER BY t.account_id, mode, place LIMIT 1`,
  },
  {
    invariant: 'every charge stores its refunded amount and the amount held for refunds',
    violationSql: accountCondition => Prisma.sql`
      SELECT t.account_id, t.mode, 'charge ' || t.id AS place FROM charges t
      LEFT JOIN (
        SELECT t.account_id, t.mode, t.charge_id,
          sum(t.amount) FILTER (WHERE t.status = 'completed') AS refunded,
          sum(t.amount) FILTER (WHERE t.status = 'pending') AS held
        FROM refunds t WHERE ${accountCondition} GROUP BY t.account_id, t.mode, t.charge_id) r
        ON r.account_id = t.account_id AND r.mode = t.mode AND r.charge_id = t.id
      WHERE ${accountCondition} AND (t.refunded_amount <> COALESCE(r.refunded, 0)
        OR t.refund_held_amount <> COALESCE(r.held, 0))
      ORDER BY t.account_id, t.mode, t.id LIMIT 1`,
  },
  {
    invariant: 'every dispute was held once, then released or lost according to its status',
    violationSql: accountCondition => Prisma.sql`
      SELECT t.account_id, t.mode, 'dispute ' || t.id AS place FROM disputes t
      LEFT JOIN ledger_transfers x ON x.account_id = t.account_id AND x.subject_id = t.id
        AND x.kind IN ('dispute_held', 'dispute_owed', 'dispute_won', 'dispute_lost')
      WHERE ${accountCondition} GROUP BY t.account_id, t.id
      HAVING COALESCE(sum(x.amount) FILTER (WHERE x.credit = 'disputed'), 0) NOT IN (t.amount,
          CASE t.status WHEN 'won' THEN 0 ELSE t.amount END)
        OR COALESCE(sum(x.amount) FILTER (WHERE x.kind = 'dispute_won'), 0) <> CASE t.status
          WHEN 'won' THEN COALESCE(sum(x.amount) FILTER (WHERE x.credit = 'disputed'), 0)
          WHEN 'lost' THEN t.amount - t.lost_amount ELSE 0 END
        OR COALESCE(sum(x.amount) FILTER (WHERE x.kind = 'dispute_lost'), 0)
          <> COALESCE(t.lost_amount, 0)
        OR bool_or(x.mode <> t.mode OR (x.kind = 'dispute_lost'
          AND x.connection_id IS DISTINCT FROM t.connection_id))
      UNION ALL
      SELECT t.account_id, t.mode, 'transfer ' || t.kind || ' of ' || t.subject_id
      FROM ledger_transfers t
      LEFT JOIN disputes d ON d.account_id = t.account_id AND d.id = t.subject_id
      WHERE ${accountCondition} AND d.id IS NULL
        AND t.kind IN ('dispute_held', 'dispute_owed', 'dispute_won', 'dispute_lost')
      ORDER BY account_id, mode, place LIMIT 1`,
  },
]

function wrongOutgoingSql(
  family: 'withdrawal' | 'refund',
  sentStatus: string,
  accountCondition: Prisma.Sql,
) {
  const rows = Prisma.raw(`${family}s`)
  return Prisma.sql`
    SELECT t.account_id, t.mode, ${family} || ' ' || t.id AS place FROM ${rows} t
    LEFT JOIN ledger_transfers x ON x.account_id = t.account_id AND x.subject_id = t.id
      AND x.kind IN (${`${family}_held`}, ${`${family}_sent`}, ${`${family}_returned`})
    WHERE ${accountCondition}
    GROUP BY t.account_id, t.id
    HAVING count(x.kind) <> CASE t.status WHEN 'pending' THEN 1 ELSE 2 END
      OR bool_or((x.amount, x.mode) IS DISTINCT FROM (t.amount, t.mode))
      OR bool_or(x.kind = ${`${family}_sent`}) <> (t.status = ${sentStatus})
      OR bool_or(x.kind = ${`${family}_returned`}) <> (t.status = 'rejected')
    UNION ALL
    SELECT t.account_id, t.mode, 'transfer ' || t.kind || ' of ' || t.subject_id
    FROM ledger_transfers t LEFT JOIN ${rows} o ON o.account_id = t.account_id AND o.id = t.subject_id
    WHERE ${accountCondition} AND o.id IS NULL
      AND t.kind IN (${`${family}_held`}, ${`${family}_sent`}, ${`${family}_returned`})`
}
