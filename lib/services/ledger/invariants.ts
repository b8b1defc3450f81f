import { Prisma } from '#lib/base/db/client.ts'
import { HOUSE_ACCOUNT_ID } from '#lib/base/ids.ts'
import { HOUSE_INVARIANTS } from '#lib/services/ledger/house-invariants.ts'
import { type InvariantCheck, ROW_INVARIANTS } from '#lib/services/ledger/row-invariants.ts'

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
    invariant: 'the balances of an account sum to zero, and each has its sign',
    violationSql: accountCondition => Prisma.sql`
      SELECT t.account_id, t.mode, 'balances' AS place FROM ledger_accounts t
      WHERE ${accountCondition} GROUP BY t.account_id, t.mode
      HAVING sum(t.balance) <> 0
        OR count(*) FILTER (WHERE t.ledger NOT IN ('disputed', 'owed')) <> 3
        OR bool_or(CASE t.ledger WHEN 'own' THEN false WHEN 'external' THEN false
          WHEN 'owed' THEN t.balance > 0 ELSE t.balance < 0 END)
        -- The bank has paid out no more for an account than it received and the account owes.
        OR (t.account_id <> ${HOUSE_ACCOUNT_ID}::uuid
          AND sum(t.balance) FILTER (WHERE t.ledger IN ('external', 'owed')) > 0)
      ORDER BY t.account_id, t.mode LIMIT 1`,
  },
  {
    invariant: 'nothing is available to an account that owes, and its two records of it agree',
    violationSql: accountCondition => Prisma.sql`
      SELECT t.account_id, t.mode, 'owed balance' AS place FROM ledger_accounts t
      WHERE ${accountCondition} GROUP BY t.account_id, t.mode
      HAVING sum(t.owed) + COALESCE(sum(t.balance) FILTER (WHERE t.ledger = 'owed'), 0) <> 0
        OR bool_or(t.owed <> 0 AND (t.ledger <> 'available' OR t.balance <> 0))
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
  ...ROW_INVARIANTS,
  ...HOUSE_INVARIANTS,
]
