import { Prisma } from '#lib/base/db/client.ts'
import { HOUSE_ACCOUNT_ID } from '#lib/base/ids.ts'

interface InvariantCheck {
  invariant: string
  violationSql: (accountCondition: Prisma.Sql) => Prisma.Sql
}

/** Each statement returns the first violation, in order of account, mode and place. */
export const INVARIANTS: InvariantCheck[] = [
  {
    invariant: 'every transfer has two entries that sum to zero, on its debit and its credit side',
    violationSql: accountCondition => Prisma.sql`
      SELECT t.account_id, t.mode, 'transfer ' || t.kind || ' of ' || t.subject_id AS place
      FROM ledger_transfers t
      LEFT JOIN ledger_entries e USING (account_id, kind, subject_id)
      WHERE ${accountCondition}
      GROUP BY t.account_id, t.kind, t.subject_id
      HAVING count(e.version) <> 2 OR sum(e.amount) <> 0
        OR count(*) FILTER (WHERE e.mode = t.mode AND e.ledger = t.debit AND e.amount = -t.amount) <> 1
        OR count(*) FILTER (WHERE e.mode = t.mode AND e.ledger = t.credit AND e.amount = t.amount) <> 1
      ORDER BY t.account_id, t.created_at, t.kind, t.subject_id LIMIT 1`,
  },
  {
    invariant: 'every entry belongs to a transfer',
    violationSql: accountCondition => Prisma.sql`
      SELECT t.account_id, t.mode, t.ledger || ' entry ' || t.version AS place
      FROM ledger_entries t
      LEFT JOIN ledger_transfers x USING (account_id, kind, subject_id)
      WHERE ${accountCondition} AND x.account_id IS NULL
      ORDER BY t.account_id, t.mode, t.ledger, t.version LIMIT 1`,
  },
  {
    invariant: "every entry's balance is the one before it plus its amount, with no entry missing",
    violationSql: accountCondition => Prisma.sql`
      SELECT account_id, mode, ledger || ' entry ' || version AS place FROM (
        SELECT t.*, lag(balance_after, 1, 0::bigint) OVER w AS before, row_number() OVER w AS nth
        FROM ledger_entries t WHERE ${accountCondition}
        WINDOW w AS (PARTITION BY account_id, mode, ledger ORDER BY version)) e
      WHERE balance_after <> before + amount OR version <> nth
      ORDER BY account_id, mode, ledger, version LIMIT 1`,
  },
  {
    invariant: 'every balance is the sum of its entries, and its version their number',
    violationSql: accountCondition => Prisma.sql`
      SELECT t.account_id, t.mode, t.ledger || ' balance' AS place
      FROM ledger_accounts t
      LEFT JOIN ledger_entries e USING (account_id, mode, ledger)
      WHERE ${accountCondition}
      GROUP BY t.account_id, t.mode, t.ledger
      HAVING t.balance <> COALESCE(sum(e.amount), 0) OR t.version <> count(e.version)
      ORDER BY t.account_id, t.mode, t.ledger LIMIT 1`,
  },
  {
    invariant: 'the balances of an account sum to zero, and only external and own are negative',
    violationSql: accountCondition => Prisma.sql`
      SELECT t.account_id, t.mode, 'balances' AS place FROM ledger_accounts t
      WHERE ${accountCondition} GROUP BY t.account_id, t.mode
      HAVING sum(t.balance) <> 0 OR count(*) <> 3
        OR bool_or(CASE WHEN t.ledger = 'own' THEN false
          WHEN t.ledger <> 'external' THEN t.balance < 0
          ELSE t.balance > 0 AND t.account_id <> ${HOUSE_ACCOUNT_ID}::uuid END)
      ORDER BY t.account_id, t.mode LIMIT 1`,
  },
  {
    invariant: 'every balance belongs to a merchant or to the house',
    violationSql: accountCondition => Prisma.sql`
      SELECT t.account_id, t.mode, t.ledger || ' balance' AS place FROM ledger_accounts t
      WHERE ${accountCondition} AND t.account_id <> ${HOUSE_ACCOUNT_ID}::uuid
        AND NOT EXISTS (SELECT FROM accounts a WHERE a.id = t.account_id)
      ORDER BY t.account_id, t.mode, t.ledger LIMIT 1`,
  },
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
    invariant: 'exactly the receipts are in suspense, each with its amount, and none pays a charge',
    violationSql: accountCondition => Prisma.sql`
      SELECT t.account_id, t.mode, 'receipt ' || t.id AS place FROM receipts t
      LEFT JOIN ledger_transfers x
        ON x.account_id = t.account_id AND x.kind = 'receipt_suspended' AND x.subject_id = t.id
      LEFT JOIN charges c ON c.end_to_end_id = t.end_to_end_id AND c.connection_id = t.connection_id
      WHERE ${accountCondition} AND (c.id IS NOT NULL OR (x.amount, x.mode, x.connection_id)
        IS DISTINCT FROM (t.amount, t.mode, t.connection_id))
      UNION ALL
      SELECT t.account_id, t.mode, 'transfer receipt_suspended of ' || t.subject_id
      FROM ledger_transfers t
      LEFT JOIN receipts r ON r.account_id = t.account_id AND r.id = t.subject_id
      WHERE ${accountCondition} AND t.kind = 'receipt_suspended' AND r.id IS NULL
      ORDER BY account_id, mode, place LIMIT 1`,
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
