import { Prisma } from '#lib/base/db/client.ts'
import { HOUSE_ACCOUNT_ID } from '#lib/base/ids.ts'
import type { InvariantCheck } from '#lib/services/ledger/row-invariants.ts'

/** Invariants between the ledger and what the house has paid. */
export const HOUSE_INVARIANTS: InvariantCheck[] = [
  {
    invariant: 'exactly the fees of banks were paid by the house or returned to it',
    violationSql: accountCondition => Prisma.sql`
      SELECT t.account_id, t.mode, 'fee ' || t.id AS place FROM bank_fees t
      LEFT JOIN ledger_transfers x
        ON x.account_id = t.account_id AND x.kind IN ('fee_paid', 'fee_returned') AND x.subject_id = t.id
      WHERE ${accountCondition} AND (x.amount, x.mode, x.connection_id, x.kind) IS DISTINCT FROM
        (t.amount, t.mode, t.connection_id, CASE WHEN t.is_return THEN 'fee_returned' ELSE 'fee_paid' END)
      UNION ALL
      SELECT t.account_id, t.mode, 'transfer ' || t.kind || ' of ' || t.subject_id
      FROM ledger_transfers t
      LEFT JOIN bank_fees f ON f.account_id = t.account_id AND f.id = t.subject_id
      WHERE ${accountCondition} AND t.kind IN ('fee_paid', 'fee_returned') AND f.id IS NULL
      ORDER BY account_id, mode, place LIMIT 1`,
  },
  {
    invariant: 'what was written off of an account was paid by the house, and nothing else',
    violationSql: accountCondition => Prisma.sql`
      SELECT t.account_id, t.mode, 'write-off ' || t.id AS place FROM write_offs t
      LEFT JOIN ledger_transfers x
        ON x.account_id = t.account_id AND x.kind = 'owed_written_off' AND x.subject_id = t.id
      LEFT JOIN ledger_transfers h ON h.account_id = ${HOUSE_ACCOUNT_ID}::uuid
        AND h.kind = 'write_off_paid' AND h.subject_id = t.id
      WHERE ${accountCondition} AND ((x.amount, x.mode, x.connection_id)
          IS DISTINCT FROM (t.amount, t.mode, t.connection_id)
        OR (h.amount, h.mode, h.connection_id)
          IS DISTINCT FROM (t.amount, t.mode, t.connection_id))
      UNION ALL
      SELECT t.account_id, t.mode, 'transfer ' || t.kind || ' of ' || t.subject_id
      FROM ledger_transfers t LEFT JOIN write_offs o ON o.id = t.subject_id
        AND (o.account_id = t.account_id OR t.kind = 'write_off_paid')
      WHERE ${accountCondition} AND t.kind IN ('owed_written_off', 'write_off_paid')
        AND o.id IS NULL
      ORDER BY account_id, mode, place LIMIT 1`,
  },
]
