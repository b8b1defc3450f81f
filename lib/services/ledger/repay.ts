import { Prisma } from '#lib/base/db/client.ts'
import { parseDatabaseError } from '#lib/base/errors.ts'
import { MOVEMENTS, type Movement } from '#lib/services/ledger/movements.ts'

const ATTEMPTS_MAX = 4

/** What PostgreSQL may report while an account begins to owe more: it checks a row as the statement first saw it. */
const OWED_CONSTRAINTS = ['ledger_accounts_owed_first', 'ledger_accounts_owed_not_positive']

/**
 * Runs a statement that credits `available`; if an account owes, again as one that repays that first.
 * The statement that repays costs 5 to 10 % more, so accounts that owe nothing are spared it. A further
 * attempt sees what an account owes since a moment ago.
 */
export async function repayIfOwed<T>(run: (isRepaying: boolean) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run(attempt > 1)
    } catch (error) {
      const { constraint } = parseDatabaseError(error)
      if (!OWED_CONSTRAINTS.includes(constraint ?? '') || attempt >= ATTEMPTS_MAX) throw error
    }
  }
}

/**
 * Builds the CTEs of transferCtes for a movement of `owed`, or one whose credit to `available` repays
 * `owed` first. The row of `available` repeats what is owed, so that its lock protects both.
 */
export function repayingCtes(movement: Movement, source: string): Prisma.Sql {
  const { debit, credit } = MOVEMENTS[movement]
  const isRepaying = credit === 'available'
  return Prisma.sql`
    ${movesCtes(movement, source)}, ledger_locked AS (
      SELECT l.account_id, l.mode, l.ledger, l.owed, ${changeSql(debit, credit)}
      FROM ledger_accounts l JOIN ledger_totals t USING (account_id, mode)
      WHERE l.ledger IN ${lockedLedgers(debit, credit)}
      ORDER BY l.account_id, l.mode, l.ledger
      FOR UPDATE OF l
    ), ${isRepaying ? repaymentCtes : Prisma.empty}
    ledger_moved AS (
      UPDATE ledger_accounts l
      SET balance = l.balance + k.change, version = l.version + k.moves,
        owed = l.owed + k.owed_change
      FROM ${Prisma.raw(isRepaying ? 'ledger_changes' : 'ledger_locked')} k
      WHERE l.account_id = k.account_id AND l.mode = k.mode AND l.ledger = k.ledger
      RETURNING l.account_id, l.mode, l.ledger,
        CASE l.ledger WHEN ${credit} THEN 1 ELSE -1 END AS side,
        l.balance - k.change AS balance_before,
        l.version - k.moves AS version_before
    ), ledger_transferred AS (
      INSERT INTO ledger_transfers
        (account_id, kind, subject_id, mode, debit, credit, amount, connection_id, created_at)
      SELECT account_id, ${movement}, id, mode, ${debit}, ${credit}, amount, connection_id,
        COALESCE(booked_at, clock_timestamp())
      FROM ledger_moves ${isRepaying ? repaymentTransfers : Prisma.empty}
    ), ledger_entered AS (
      INSERT INTO ledger_entries (account_id, mode, ledger, version, kind, subject_id,
        amount, balance_after, created_at)
      SELECT b.account_id, b.mode, b.ledger, b.version_before + m.nth, ${movement}, m.id,
        b.side * m.amount, b.balance_before + b.side * m.running,
        COALESCE(m.booked_at, clock_timestamp())
      FROM ledger_moved b JOIN ledger_moves m USING (account_id, mode)
      WHERE b.ledger IN (${debit}, ${credit}) ${isRepaying ? repaymentEntries : Prisma.empty}
    )`
}

/** `ledger_moves`: the movements of `source` in order. `ledger_totals`: their sum per account and mode. */
export function movesCtes(movement: Movement, source: string): Prisma.Sql {
  const { debit, credit }: { debit: string; credit: string } = MOVEMENTS[movement]
  const from = Prisma.raw(source)
  const isExternal = debit === 'external' || credit === 'external'
  const connection = Prisma.raw(isExternal ? 'connection_id' : 'NULL::uuid AS connection_id')
  return Prisma.sql`ledger_moves AS (
      SELECT account_id, mode, id, amount, booked_at, ${connection},
        row_number() OVER w AS nth,
        (sum(amount) OVER w)::bigint AS running
      FROM ${from}
      WINDOW w AS (PARTITION BY account_id, mode ORDER BY id)
    ), ledger_totals AS (
      SELECT account_id, mode, sum(amount)::bigint AS total, count(*) AS moves
      FROM ${from} GROUP BY account_id, mode
    )`
}

/** The row of `available` changes with `owed`, whose amount it repeats. */
function lockedLedgers(debit: string, credit: string): Prisma.Sql {
  const names = [debit, credit, ...([debit, credit].includes('owed') ? ['available'] : [])]
  return Prisma.sql`(${Prisma.join(names)})`
}

function changeSql(debit: string, credit: string): Prisma.Sql {
  const side = Prisma.sql`CASE l.ledger WHEN ${credit} THEN 1 WHEN ${debit} THEN -1 ELSE 0 END`
  const owedChange =
    debit === 'owed' || credit === 'owed'
      ? Prisma.sql`CASE l.ledger WHEN 'available' THEN ${debit === 'owed' ? 1 : -1}::int * t.total ELSE 0 END`
      : Prisma.sql`0`
  return Prisma.sql`${side} * t.total AS change, abs(${side}) * t.moves AS moves,
    ${owedChange} AS owed_change`
}

/** `ledger_repaid`: the part of each movement that repays what is owed, in the order of movements. */
const repaymentCtes = Prisma.sql`
    ledger_repaid AS (
      SELECT m.account_id, m.mode, m.id, m.booked_at, m.nth, LEAST(m.running, k.owed) AS running,
        LEAST(m.running, k.owed) - (m.running - m.amount) AS amount
      FROM ledger_moves m JOIN ledger_locked k USING (account_id, mode)
      WHERE k.ledger = 'available' AND m.running - m.amount < k.owed
    ), ledger_owed AS (
      SELECT l.account_id, l.mode, l.ledger, r.total, r.moves
      FROM ledger_accounts l JOIN (
        SELECT account_id, mode, max(running) AS total, count(*) AS moves
        FROM ledger_repaid GROUP BY account_id, mode) r USING (account_id, mode)
      WHERE l.ledger = 'owed'
      ORDER BY l.account_id, l.mode
      FOR UPDATE OF l
    ), ledger_changes AS (
      SELECT k.account_id, k.mode, k.ledger, k.change - COALESCE(o.total, 0) AS change,
        k.moves + COALESCE(o.moves, 0) AS moves, -COALESCE(o.total, 0) AS owed_change
      FROM ledger_locked k LEFT JOIN ledger_owed o
        ON o.account_id = k.account_id AND o.mode = k.mode AND k.ledger = 'available'
      UNION ALL
      SELECT account_id, mode, ledger, total, moves, 0 FROM ledger_owed
    ),`

const repaymentTransfers = Prisma.sql`
      UNION ALL
      SELECT account_id, 'owed_repaid', id, mode, 'available', 'owed', amount, NULL,
        COALESCE(booked_at, clock_timestamp())
      FROM ledger_repaid`

/** After all credits of the statement; each movement's credit and repayment have the same subject. */
const repaymentEntries = Prisma.sql`
      UNION ALL
      SELECT b.account_id, b.mode, b.ledger,
        b.version_before + r.nth + CASE b.ledger WHEN 'available' THEN t.moves ELSE 0 END,
        'owed_repaid', r.id, CASE b.ledger WHEN 'available' THEN -r.amount ELSE r.amount END,
        b.balance_before + CASE b.ledger WHEN 'available' THEN t.total - r.running ELSE r.running END,
        COALESCE(r.booked_at, clock_timestamp())
      FROM ledger_moved b JOIN ledger_repaid r USING (account_id, mode)
      JOIN ledger_totals t USING (account_id, mode)
      WHERE b.ledger IN ('available', 'owed')`
