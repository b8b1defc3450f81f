import { OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { Prisma } from '#lib/db/client.ts'
import { type InvariantCheck, transfersOf } from '#lib/ledger/row-invariants.ts'

const FEE_KINDS = ['fee_paid', 'fee_returned']
const WRITE_OFF_KINDS = ['owed_written_off', 'write_off_paid']
const SETTLEMENT_KINDS = ['unmatched_credited', 'unmatched_released', 'unmatched_kept']

/** Invariants between the ledger and what the operator has paid. */
export const OPERATOR_INVARIANTS: InvariantCheck[] = [
  {
    invariant: 'exactly the fees of banks were paid by the operator or returned to it',
    parts: [
      {
        ...{ of: 'bank_fees', kinds: FEE_KINDS },
        sql: scope => Prisma.sql`
          SELECT t.account_id, t.mode, 'fee ' || t.id AS place FROM ${scope.from('bank_fees')}
          LEFT JOIN ledger_transfers x ON x.account_id = t.account_id
            AND x.kind IN (${Prisma.join(FEE_KINDS)}) AND x.subject_id = t.id
          WHERE ${scope.condition} AND (x.amount, x.mode, x.connection_id, x.kind) IS DISTINCT FROM
            (t.amount, t.mode, t.connection_id, CASE WHEN t.is_return THEN 'fee_returned' ELSE 'fee_paid' END)`,
      },
      transfersOf(FEE_KINDS, {
        join: Prisma.sql`bank_fees f ON f.account_id = t.account_id AND f.id = t.subject_id`,
        wrong: Prisma.sql`f.id IS NULL`,
      }),
    ],
  },
  {
    invariant: 'what was written off of an account was paid by the operator, and nothing else',
    parts: [
      {
        ...{ of: 'write_offs', kinds: ['owed_written_off'] },
        sql: scope => Prisma.sql`
          SELECT t.account_id, t.mode, 'write-off ' || t.id AS place FROM ${scope.from('write_offs')}
          LEFT JOIN ledger_transfers x
            ON x.account_id = t.account_id AND x.kind = 'owed_written_off' AND x.subject_id = t.id
          LEFT JOIN ledger_transfers h ON h.account_id = ${OPERATOR_ACCOUNT_ID}::uuid
            AND h.kind = 'write_off_paid' AND h.subject_id = t.id
          WHERE ${scope.condition} AND ((x.amount, x.mode, x.connection_id)
              IS DISTINCT FROM (t.amount, t.mode, t.connection_id)
            OR (h.amount, h.mode, h.connection_id)
              IS DISTINCT FROM (t.amount, t.mode, t.connection_id))`,
      },
      transfersOf(WRITE_OFF_KINDS, {
        join: Prisma.sql`write_offs o ON o.id = t.subject_id
          AND (o.account_id = t.account_id OR t.kind = 'write_off_paid')`,
        wrong: Prisma.sql`o.id IS NULL`,
      }),
    ],
  },
  {
    invariant: 'every resolved payment left `unmatched` once, for whom its resolution names',
    parts: [
      {
        ...{ of: 'unmatched_resolutions', kinds: ['unmatched_released', 'unmatched_kept'] },
        sql: scope => Prisma.sql`
          SELECT t.account_id, r.mode, 'settlement of ' || t.payment_id AS place
          FROM ${scope.from('unmatched_resolutions')}
          JOIN unmatched_payments r ON r.account_id = t.account_id AND r.id = t.payment_id
          LEFT JOIN ledger_transfers x ON x.account_id = t.account_id AND x.subject_id = t.payment_id
            AND x.kind = CASE t.entry WHEN 'keep' THEN 'unmatched_kept' ELSE 'unmatched_released' END
          LEFT JOIN ledger_transfers m ON m.account_id = t.to_account_id
            AND m.kind = CASE t.entry WHEN 'match' THEN 'charge_paid' ELSE 'unmatched_credited' END
            AND m.subject_id = COALESCE(t.charge_id, t.payment_id)
          LEFT JOIN unmatched_returns b ON b.account_id = t.account_id AND b.payment_id = t.payment_id
            AND b.status = 'completed'
          CROSS JOIN LATERAL (SELECT r.amount - COALESCE(sum(y.amount), 0) AS amount FROM payment_returns k
            JOIN ledger_transfers y ON y.account_id = k.account_id AND y.subject_id = k.id
              AND y.kind = 'unmatched_payment_returned'
            WHERE k.connection_id = r.connection_id AND k.end_to_end_id = r.end_to_end_id) l
          WHERE ${scope.condition} AND ((x.amount, x.mode) IS DISTINCT FROM (l.amount, r.mode)
            OR (x.credit = 'external' AND x.connection_id IS DISTINCT FROM r.connection_id)
            OR (t.to_account_id IS NOT NULL AND (m.amount, m.mode, m.connection_id)
              IS DISTINCT FROM (l.amount, r.mode, r.connection_id))
            OR b.amount IS DISTINCT FROM CASE t.entry WHEN 'give_back' THEN l.amount END)`,
      },
      transfersOf(SETTLEMENT_KINDS, {
        join: Prisma.sql`unmatched_resolutions s ON s.payment_id = t.subject_id
          AND CASE t.kind WHEN 'unmatched_credited' THEN s.to_account_id ELSE s.account_id END = t.account_id
          AND CASE t.kind WHEN 'unmatched_credited' THEN s.entry = 'credit'
            WHEN 'unmatched_kept' THEN s.entry = 'keep' ELSE s.entry <> 'keep' END`,
        wrong: Prisma.sql`s.payment_id IS NULL`,
      }),
      {
        ...{ of: 'unmatched_returns', kinds: ['unmatched_released'] },
        toldBy: accountId => Prisma.sql`SELECT b.id FROM unmatched_returns b
          WHERE b.account_id = ${accountId} AND b.payment_id = u.id`,
        sql: scope => Prisma.sql`
          SELECT t.account_id, t.mode, 'return ' || t.id AS place FROM ${scope.from('unmatched_returns')}
          LEFT JOIN unmatched_resolutions s
            ON s.account_id = t.account_id AND s.payment_id = t.payment_id
          WHERE ${scope.condition} AND t.status = 'completed' AND s.entry IS DISTINCT FROM 'give_back'`,
      },
    ],
  },
]
