import { OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { Prisma } from '#lib/db/client.ts'

/** The columns by which the rows of an account are read in order, of each table whose rows are checked. */
export const ROW_KEYS = {
  ledger_entries: { mode: 'text', ledger: 'text', version: 'bigint' },
  ledger_transfers: { kind: 'text', subject_id: 'uuid' },
  charges: { id: 'uuid' },
  withdrawals: { id: 'uuid' },
  refunds: { id: 'uuid' },
  disputes: { id: 'uuid' },
  payment_returns: { id: 'uuid' },
  booked_payments: { subject_id: 'uuid' },
  unmatched_payments: { id: 'uuid' },
  unmatched_resolutions: { payment_id: 'uuid' },
  unmatched_returns: { id: 'uuid' },
  bank_fees: { id: 'uuid' },
  write_offs: { id: 'uuid' },
  corrections: { id: 'uuid' },
} as const
export type RowTable = keyof typeof ROW_KEYS

/** Rows `t` of a table that are verified. */
export interface RowScope {
  /** Item of FROM with the alias `t`. */
  from: (table: string) => Prisma.Sql
  condition: Prisma.Sql
  /** Key of the entry before those of the scope, which is among them. */
  entryBefore?: Prisma.Sql | null
}

/** A part of an invariant: what must hold of the rows `t` of one table. */
interface InvariantPart {
  /** `ledger_accounts` has a few rows per account; `all_entries` reads all entries of those. */
  of: RowTable | 'ledger_accounts' | 'all_entries'
  /** Kinds of the movements about which it is. Default: all. */
  kinds?: readonly string[]
  /** SQL of the keys of rows that the movements with an id `u.id` tell of. Default: the same id. */
  toldBy?: (accountId: Prisma.Sql) => Prisma.Sql
  /** Selects account_id, mode and place of violations. */
  sql: (scope: RowScope) => Prisma.Sql
}

interface InvariantCheck {
  invariant: string
  /** The order in which the first violation is looked for. Default: account_id, mode, place. */
  order?: string
  parts: InvariantPart[]
}

/** SQL of the first violation in the scope. */
export function violationSql({ parts, order }: InvariantCheck, scope: RowScope): Prisma.Sql {
  const all = parts.map(({ sql }) => sql(scope))
  return Prisma.sql`${Prisma.join(all, ' UNION ALL ')}
    ORDER BY ${Prisma.raw(order ?? 'account_id, mode, place')} LIMIT 1`
}

/** Transfers `t` of these kinds that are wrong beside the row that tells of them. */
function transfersOf(
  kinds: readonly string[],
  { join, wrong }: { join: Prisma.Sql; wrong: Prisma.Sql },
): InvariantPart {
  return {
    of: 'ledger_transfers',
    kinds,
    sql: scope => Prisma.sql`
      SELECT t.account_id, t.mode, 'transfer ' || t.kind || ' of ' || t.subject_id AS place
      FROM ${scope.from('ledger_transfers')} LEFT JOIN ${join}
      WHERE ${scope.condition} AND t.kind IN (${Prisma.join(kinds)}) AND ${wrong}`,
  }
}

/** Of a subject with the transfer's id. */
const subject = (table: string, alias: string) =>
  Prisma.raw(
    `${table} ${alias} ON ${alias}.account_id = t.account_id AND ${alias}.id = t.subject_id`,
  )

/** Keeps an outer join, whose order PostgreSQL does not change. */
const isOfOtherConnection = (alias: string) =>
  Prisma.raw(`t.connection_id IS DISTINCT FROM COALESCE(${alias}.connection_id, t.connection_id)`)

/** The payment `t` is that of this row, with its id. */
function isPaidBy(paymentId: string): Prisma.Sql {
  const [row] = paymentId.split('.')
  return Prisma.raw(`${row}.connection_id = t.connection_id AND COALESCE(
    t.end_to_end_id IN (${paymentId}, ${row}.connection_id || ' ' || ${paymentId}), false)`)
}

const DISPUTE_KINDS = ['dispute_held', 'dispute_owed', 'dispute_won', 'dispute_lost']

const RETURN_KINDS = [
  'payment_returned',
  'payment_return_owed',
  'unmatched_payment_returned',
  'own_payment_returned',
]

/** Invariants between the ledger and the rows of what was booked. */
export const ROW_INVARIANTS: InvariantCheck[] = [
  {
    invariant: 'the held amount equals the pending withdrawals and refunds',
    parts: [
      {
        of: 'ledger_accounts',
        sql: scope => Prisma.sql`
          SELECT t.account_id, t.mode, 'outbound balance' AS place FROM ${scope.from('ledger_accounts')}
          WHERE ${scope.condition} AND t.ledger = 'outbound' AND t.balance <>
            COALESCE((SELECT sum(amount) FROM withdrawals w
              WHERE w.account_id = t.account_id AND w.mode = t.mode AND w.status = 'pending'), 0)
            + COALESCE((SELECT sum(amount) FROM refunds r
              WHERE r.account_id = t.account_id AND r.mode = t.mode AND r.status = 'pending'), 0)`,
      },
    ],
  },
  {
    invariant: 'exactly the paid charges were credited, each with its amount',
    parts: [
      {
        of: 'charges',
        kinds: ['charge_paid'],
        sql: scope => Prisma.sql`
          SELECT t.account_id, t.mode, 'charge ' || t.id AS place FROM ${scope.from('charges')}
          LEFT JOIN ledger_transfers x
            ON x.account_id = t.account_id AND x.kind = 'charge_paid' AND x.subject_id = t.id
          WHERE ${scope.condition} AND t.status = 'paid'
            AND (x.amount, x.mode) IS DISTINCT FROM (t.amount, t.mode)`,
      },
      transfersOf(['charge_paid'], {
        join: subject('charges', 'c'),
        wrong: Prisma.sql`c.status IS DISTINCT FROM 'paid'`,
      }),
    ],
  },
  {
    invariant:
      'every withdrawal and refund was held once, then sent or returned according to its status',
    parts: [
      ...partsOfOutgoing('withdrawal', 'approved'),
      ...partsOfOutgoing('refund', 'completed'),
    ],
  },
  {
    invariant: 'every transfer of a payment names the connection of its charge or withdrawal',
    parts: [
      transfersOf(['charge_paid'], {
        join: subject('charges', 'c'),
        wrong: isOfOtherConnection('c'),
      }),
      transfersOf(['withdrawal_sent'], {
        join: subject('withdrawals', 'w'),
        wrong: isOfOtherConnection('w'),
      }),
      transfersOf(['payout_returned'], {
        join: subject('payout_returns', 'b'),
        wrong: isOfOtherConnection('b'),
      }),
      transfersOf(['refund_sent'], {
        join: Prisma.sql`${subject('refunds', 'r')}
          LEFT JOIN charges c ON c.account_id = r.account_id AND c.id = r.charge_id`,
        wrong: isOfOtherConnection('c'),
      }),
    ],
  },
  {
    invariant: 'every withdrawal stores what came back of it, and each return was credited once',
    parts: [
      {
        of: 'withdrawals',
        kinds: ['payout_returned'],
        toldBy: accountId => Prisma.sql`SELECT b.withdrawal_id FROM payout_returns b
          WHERE b.account_id = ${accountId} AND b.id = u.id`,
        sql: scope => Prisma.sql`
          SELECT t.account_id, t.mode, 'withdrawal ' || t.id AS place FROM ${scope.from('withdrawals')}
          LEFT JOIN payout_returns b ON b.account_id = t.account_id AND b.withdrawal_id = t.id
          LEFT JOIN ledger_transfers x
            ON x.account_id = b.account_id AND x.kind = 'payout_returned' AND x.subject_id = b.id
          WHERE ${scope.condition} GROUP BY t.account_id, t.id, t.mode, t.returned_amount
          HAVING t.returned_amount <> COALESCE(sum(b.amount), 0)
            OR bool_or(b.id IS NOT NULL AND (x.amount, x.mode) IS DISTINCT FROM (b.amount, t.mode))`,
      },
      transfersOf(['payout_returned'], {
        join: subject('payout_returns', 'b'),
        wrong: Prisma.sql`b.id IS NULL`,
      }),
    ],
  },
  {
    invariant:
      'exactly the unmatched payments were moved to `unmatched`, each with its amount, and only matched ones pay charges',
    parts: [
      {
        of: 'unmatched_payments',
        kinds: ['unmatched_received'],
        sql: scope => Prisma.sql`
          SELECT t.account_id, t.mode, 'payment ' || t.id AS place FROM ${scope.from('unmatched_payments')}
          LEFT JOIN ledger_transfers x
            ON x.account_id = t.account_id AND x.kind = 'unmatched_received' AND x.subject_id = t.id
          WHERE ${scope.condition}
            AND ((x.amount, x.mode, x.connection_id) IS DISTINCT FROM (t.amount, t.mode, t.connection_id)
              -- LIMIT keeps a look-up per payment: a join would read all charges.
              OR (SELECT c.id FROM charges c WHERE c.end_to_end_id = t.end_to_end_id LIMIT 1)
                IS DISTINCT FROM (SELECT s.charge_id FROM unmatched_resolutions s
                  WHERE s.account_id = t.account_id AND s.payment_id = t.id))`,
      },
      transfersOf(['unmatched_received'], {
        join: subject('unmatched_payments', 'r'),
        wrong: Prisma.sql`r.id IS NULL`,
      }),
    ],
  },
  {
    invariant: 'every claimed payment is a paid charge, a payment or a return, with its id',
    parts: [
      {
        of: 'booked_payments',
        kinds: ['charge_paid', 'unmatched_received', 'payout_returned'],
        sql: scope => Prisma.sql`
          SELECT t.account_id, CASE n.kind WHEN 'simulator' THEN 'test' ELSE 'live' END AS mode,
            'payment ' || t.end_to_end_id AS place
          FROM ${scope.from('booked_payments')} LEFT JOIN connections n ON n.id = t.connection_id
          LEFT JOIN ${subject('charges', 'c')}
          LEFT JOIN ${subject('unmatched_payments', 'r')}
          LEFT JOIN ${subject('payout_returns', 'b')}
          WHERE ${scope.condition} AND NOT (c.id IS NOT NULL AND c.status = 'paid' AND ${isPaidBy('c.end_to_end_id')}
            OR r.id IS NOT NULL AND ${isPaidBy('r.end_to_end_id')}
            OR b.id IS NOT NULL AND ${isPaidBy('b.return_id')})`,
      },
    ],
  },
  {
    invariant: 'every charge stores its refunded amount and the amount held for refunds',
    parts: [
      {
        of: 'charges',
        kinds: ['refund_held', 'refund_sent', 'refund_returned'],
        toldBy: accountId => Prisma.sql`SELECT r.charge_id FROM refunds r
          WHERE r.account_id = ${accountId} AND r.id = u.id`,
        sql: scope => Prisma.sql`
          SELECT t.account_id, t.mode, 'charge ' || t.id AS place FROM ${scope.from('charges')}
          LEFT JOIN refunds r
            ON r.account_id = t.account_id AND r.charge_id = t.id AND r.mode = t.mode
          WHERE ${scope.condition}
          GROUP BY t.account_id, t.id, t.mode, t.refunded_amount, t.refund_held_amount
          HAVING t.refunded_amount <> COALESCE(sum(r.amount) FILTER (WHERE r.status = 'completed'), 0)
            OR t.refund_held_amount <> COALESCE(sum(r.amount) FILTER (WHERE r.status = 'pending'), 0)`,
      },
    ],
  },
  {
    invariant:
      'every return of a payment by the bank moved its amount, but for what a lost dispute took',
    parts: [
      {
        of: 'payment_returns',
        kinds: RETURN_KINDS,
        sql: scope => Prisma.sql`
          SELECT t.account_id, t.mode, 'payment return ' || t.id AS place FROM ${scope.from('payment_returns')}
          LEFT JOIN ledger_transfers x ON x.account_id = t.account_id AND x.subject_id = t.id
            AND x.kind IN (${Prisma.join(RETURN_KINDS)})
          WHERE ${scope.condition}
          GROUP BY t.account_id, t.id, t.mode, t.amount, t.disputed_amount, t.connection_id
          HAVING COALESCE(sum(x.amount), 0) <> t.amount - t.disputed_amount
            OR bool_or((x.mode, x.connection_id) IS DISTINCT FROM (t.mode, t.connection_id) AND x.mode IS NOT NULL)`,
      },
      transfersOf(RETURN_KINDS, {
        join: subject('payment_returns', 'b'),
        wrong: Prisma.sql`b.id IS NULL`,
      }),
      {
        of: 'charges',
        kinds: RETURN_KINDS,
        toldBy: accountId => Prisma.sql`SELECT b.charge_id FROM payment_returns b
          WHERE b.account_id = ${accountId} AND b.id = u.id AND b.charge_id IS NOT NULL`,
        sql: scope => Prisma.sql`
          SELECT t.account_id, t.mode, 'charge ' || t.id AS place FROM ${scope.from('charges')}
          LEFT JOIN payment_returns b ON b.account_id = t.account_id AND b.charge_id = t.id
          WHERE ${scope.condition} GROUP BY t.account_id, t.id, t.mode, t.returned_amount
          HAVING t.returned_amount <> COALESCE(sum(b.amount - b.disputed_amount), 0)`,
      },
    ],
  },
  {
    invariant: 'every dispute was held once, then released or lost according to its status',
    parts: [
      {
        of: 'disputes',
        kinds: DISPUTE_KINDS,
        sql: scope => Prisma.sql`
          SELECT t.account_id, t.mode, 'dispute ' || t.id AS place FROM ${scope.from('disputes')}
          LEFT JOIN ledger_transfers x ON x.account_id = t.account_id AND x.subject_id = t.id
            AND x.kind IN (${Prisma.join(DISPUTE_KINDS)})
          WHERE ${scope.condition}
          GROUP BY t.account_id, t.id, t.mode, t.status, t.amount, t.lost_amount, t.returned_amount,
            t.connection_id
          HAVING COALESCE(sum(x.amount) FILTER (WHERE x.credit = 'disputed'), 0)
              NOT IN (t.amount - t.returned_amount, CASE t.status WHEN 'won' THEN 0
                ELSE t.amount - t.returned_amount END)
              -- What was returned while it was open counts at its end only.
              AND NOT (t.status = 'lost' AND t.returned_amount > 0)
            OR COALESCE(sum(x.amount) FILTER (WHERE x.kind = 'dispute_won'), 0) <> CASE t.status
              WHEN 'open' THEN 0 ELSE COALESCE(sum(x.amount) FILTER (WHERE x.credit = 'disputed'), 0)
                - COALESCE(t.lost_amount - t.returned_amount, 0) END
            OR COALESCE(sum(x.amount) FILTER (WHERE x.kind = 'dispute_lost'), 0)
              <> COALESCE(t.lost_amount - t.returned_amount, 0)
            OR bool_or(x.mode <> t.mode OR (x.kind = 'dispute_lost'
              AND x.connection_id IS DISTINCT FROM t.connection_id))`,
      },
      transfersOf(DISPUTE_KINDS, {
        join: subject('disputes', 'd'),
        wrong: Prisma.sql`d.id IS NULL`,
      }),
    ],
  },
]

function partsOfOutgoing(family: 'withdrawal' | 'refund', sentStatus: string): InvariantPart[] {
  const [held, sent, returned] = ['held', 'sent', 'returned'].map(end => `${family}_${end}`)
  const kinds = [held, sent, returned] as string[]
  return [
    {
      of: `${family}s`,
      kinds,
      sql: scope => Prisma.sql`
        SELECT t.account_id, t.mode, ${family} || ' ' || t.id AS place
        FROM ${scope.from(`${family}s`)}
        LEFT JOIN ledger_transfers x ON x.account_id = t.account_id AND x.subject_id = t.id
          AND x.kind IN (${Prisma.join(kinds)})
        WHERE ${scope.condition} GROUP BY t.account_id, t.id, t.mode, t.status, t.amount
        HAVING count(x.kind) <> CASE t.status WHEN 'pending' THEN 1 ELSE 2 END
          OR bool_or((x.amount, x.mode) IS DISTINCT FROM (t.amount, t.mode))
          OR bool_or(x.kind = ${sent}) <> (t.status = ${sentStatus})
          OR bool_or(x.kind = ${returned}) <> (t.status = 'rejected')`,
    },
    transfersOf(kinds, {
      join: subject(`${family}s`, 'o'),
      wrong: Prisma.sql`o.id IS NULL`,
    }),
  ]
}

const FEE_KINDS = ['fee_paid', 'fee_returned']
const WRITE_OFF_KINDS = ['owed_written_off', 'write_off_paid']
const CORRECTION_KINDS = ['corrected', 'correction_owed']
const SETTLEMENT_KINDS = ['unmatched_credited', 'unmatched_released', 'unmatched_kept']

/** Invariants between the ledger and what the operator has paid. */
const OPERATOR_INVARIANTS: InvariantCheck[] = [
  {
    invariant: 'exactly the fees of banks were paid by the operator or returned to it',
    parts: [
      {
        of: 'bank_fees',
        kinds: FEE_KINDS,
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
        of: 'write_offs',
        kinds: ['owed_written_off'],
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
        of: 'unmatched_resolutions',
        kinds: ['unmatched_released', 'unmatched_kept'],
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
        of: 'unmatched_returns',
        kinds: ['unmatched_released'],
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
  {
    invariant: 'every entry of two admins was booked once on both of its sides, and no other was',
    parts: [
      {
        of: 'corrections',
        kinds: ['corrected'],
        sql: scope => Prisma.sql`
          SELECT t.account_id, t.mode, 'correction ' || t.id AS place
          FROM ${scope.from('corrections')}
          CROSS JOIN LATERAL (VALUES (t.from_account_id, true), (t.to_account_id, false)) AS p (id, pays)
          LEFT JOIN ledger_transfers x ON x.account_id = p.id AND x.subject_id = t.id
            AND x.kind IN (${Prisma.join(CORRECTION_KINDS)}) AND (x.credit = 'external') = p.pays
            AND x.mode = t.mode AND x.connection_id = t.connection_id
          WHERE ${scope.condition} AND p.id IS NOT NULL
          GROUP BY t.account_id, t.mode, t.id, t.amount, t.booked_at, p.id
          HAVING COALESCE(sum(x.amount), 0) <> CASE WHEN t.booked_at IS NULL THEN 0 ELSE t.amount END`,
      },
      transfersOf(CORRECTION_KINDS, {
        join: Prisma.sql`corrections k ON k.id = t.subject_id AND k.booked_at IS NOT NULL
          AND t.account_id = CASE WHEN t.credit = 'external' THEN k.from_account_id ELSE k.to_account_id END`,
        wrong: Prisma.sql`k.id IS NULL`,
      }),
    ],
  },
]

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
