import { OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { Prisma } from '#lib/db/client.ts'
import { OPERATOR_INVARIANTS } from '#lib/ledger/operator-invariants.ts'
import { type InvariantCheck, ROW_INVARIANTS } from '#lib/ledger/row-invariants.ts'

export const RUNNING =
  "every entry's balance is the one before it plus its amount, with no entry missing"
export const BALANCE = 'every balance is the sum of its entries, and its version their number'

export const INVARIANTS: InvariantCheck[] = [
  {
    invariant: 'every transfer has two entries that sum to zero, on its debit and its credit side',
    order: 't.account_id, t.created_at, t.kind, t.subject_id',
    parts: [
      {
        of: 'ledger_transfers',
        sql: scope => Prisma.sql`
          SELECT t.account_id, t.mode, 'transfer ' || t.kind || ' of ' || t.subject_id AS place
          FROM ${scope.from('ledger_transfers')}
          LEFT JOIN ledger_entries e USING (account_id, kind, subject_id)
          WHERE ${scope.condition}
          GROUP BY t.account_id, t.kind, t.subject_id, t.mode, t.debit, t.credit, t.amount, t.created_at
          HAVING count(e.version) <> 2 OR sum(e.amount) <> 0
            OR count(*) FILTER (WHERE e.mode = t.mode AND e.ledger = t.debit AND e.amount = -t.amount) <> 1
            OR count(*) FILTER (WHERE e.mode = t.mode AND e.ledger = t.credit AND e.amount = t.amount) <> 1`,
      },
    ],
  },
  {
    invariant: 'every entry belongs to a transfer',
    order: 't.account_id, t.mode, t.ledger, t.version',
    parts: [
      {
        of: 'ledger_entries',
        sql: scope => Prisma.sql`
          SELECT t.account_id, t.mode, t.ledger || ' entry ' || t.version AS place
          FROM ${scope.from('ledger_entries')}
          LEFT JOIN ledger_transfers x USING (account_id, kind, subject_id)
          WHERE ${scope.condition} AND x.account_id IS NULL`,
      },
    ],
  },
  {
    invariant: RUNNING,
    order: 'e.account_id, e.mode, e.ledger, e.version',
    parts: [
      {
        of: 'ledger_entries',
        sql: scope => Prisma.sql`
          SELECT account_id, mode, ledger || ' entry ' || version AS place FROM (
            SELECT t.*, lag(balance_after, 1, 0::bigint) OVER w AS before,
              lag(version, 1, 0::bigint) OVER w AS version_before
            FROM ${scope.from('ledger_entries')} WHERE ${scope.condition}
            WINDOW w AS (PARTITION BY account_id, mode, ledger ORDER BY version)) e
          WHERE (balance_after <> before + amount OR version <> version_before + 1)
            ${scope.entryBefore ? Prisma.sql`AND (e.mode, e.ledger, e.version) <> ${scope.entryBefore}` : Prisma.empty}`,
      },
    ],
  },
  {
    invariant: BALANCE,
    parts: [
      {
        of: 'all_entries',
        sql: scope => Prisma.sql`
          SELECT t.account_id, t.mode, t.ledger || ' balance' AS place
          FROM ${scope.from('ledger_accounts')}
          LEFT JOIN ledger_entries e USING (account_id, mode, ledger)
          WHERE ${scope.condition}
          GROUP BY t.account_id, t.mode, t.ledger
          HAVING t.balance <> COALESCE(sum(e.amount), 0) OR t.version <> count(e.version)`,
      },
    ],
  },
  {
    invariant: 'the balances of an account sum to zero, and each has its sign',
    parts: [
      {
        of: 'ledger_accounts',
        sql: scope => Prisma.sql`
          SELECT t.account_id, t.mode, 'balances' AS place FROM ${scope.from('ledger_accounts')}
          WHERE ${scope.condition} GROUP BY t.account_id, t.mode
          HAVING sum(t.balance) <> 0
            OR count(*) FILTER (WHERE t.ledger NOT IN ('disputed', 'owed')) <> 3
            OR bool_or(CASE t.ledger WHEN 'own' THEN false WHEN 'external' THEN false
              WHEN 'owed' THEN t.balance > 0 ELSE t.balance < 0 END)
            -- The bank has paid out no more for an account than it received and the account owes.
            OR (t.account_id <> ${OPERATOR_ACCOUNT_ID}::uuid
              AND sum(t.balance) FILTER (WHERE t.ledger IN ('external', 'owed')) > 0)`,
      },
    ],
  },
  {
    invariant: 'nothing is available to an account that owes, and its two records of it agree',
    parts: [
      {
        of: 'ledger_accounts',
        sql: scope => Prisma.sql`
          SELECT t.account_id, t.mode, 'owed balance' AS place FROM ${scope.from('ledger_accounts')}
          WHERE ${scope.condition} GROUP BY t.account_id, t.mode
          HAVING sum(t.owed) + COALESCE(sum(t.balance) FILTER (WHERE t.ledger = 'owed'), 0) <> 0
            OR bool_or(t.owed <> 0 AND (t.ledger <> 'available' OR t.balance <> 0))`,
      },
    ],
  },
  {
    invariant: 'every balance belongs to a merchant or to the operator',
    parts: [
      {
        of: 'ledger_accounts',
        sql: scope => Prisma.sql`
          SELECT t.account_id, t.mode, t.ledger || ' balance' AS place FROM ${scope.from('ledger_accounts')}
          WHERE ${scope.condition} AND t.account_id <> ${OPERATOR_ACCOUNT_ID}::uuid
            AND NOT EXISTS (SELECT FROM accounts a WHERE a.id = t.account_id)`,
      },
    ],
  },
  ...ROW_INVARIANTS,
  ...OPERATOR_INVARIANTS,
]
