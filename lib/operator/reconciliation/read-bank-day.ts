import { withConnectionJournal } from '#lib/banks/record-call.ts'
import type { ServedConnection } from '#lib/banks/served.ts'
import { log } from '#lib/core/log.ts'
import { isOver } from '#lib/operator/reconciliation/calendar.ts'
import type { DayReading } from '#lib/operator/reconciliation/claim-day.ts'
import {
  type BankDayRead,
  RETRY_PAUSE_MS,
  readAgain,
  readByLists,
} from '#lib/operator/reconciliation/read-lists.ts'
import type { What } from '#lib/operator/reconciliation/schema.ts'
import { rowsOfStatement } from '#lib/operator/reconciliation/statement-rows.ts'

/** Pause before a statement that is not what was wanted is ordered again: Efí makes it anew. */
const UNREADABLE_PAUSE_MS = 30 * 60_000
/** Above the time in which a bank sends a file of many thousand records. */
const STATEMENT_TIMEOUT_MS = 60_000

/** Reads the statement of a day that is over, if the bank has statements, else its lists. */
export async function readBankDay(
  connection: ServedConnection,
  reading: DayReading,
  now: Date,
  hold: () => Promise<boolean>,
): Promise<BankDayRead> {
  return isOver(reading.day, now) && connection.gateway.readStatement
    ? readByStatement(connection, reading)
    : readByLists(connection, reading.day, hold)
}

async function readByStatement(
  connection: ServedConnection,
  { day, cursor }: DayReading,
): Promise<BankDayRead> {
  const { readStatement } = withConnectionJournal(connection, { timeoutMs: STATEMENT_TIMEOUT_MS })
  const result = await readStatement?.(day, cursor)
  if (result?.outcome !== 'ok') return readAgain(result, cursor)
  const { value } = result
  if (value.state === 'making')
    return { state: 'later', pauseMs: value.pauseMs, cursor: value.cursor, flaw: null }
  if (value.state === 'lost')
    return { state: 'later', pauseMs: RETRY_PAUSE_MS, cursor: null, flaw: 'statement_lost' }
  if (value.state === 'unreadable') {
    log().warn({ connectionId: connection.id, day, flaw: value.flaw }, 'statement cannot be read')
    const flaw = `statement_${value.flaw}`
    return { state: 'later', pauseMs: UNREADABLE_PAUSE_MS, cursor: null, flaw }
  }
  const { entries, ...statement } = value.statement
  const rows = rowsOfStatement(day, entries)
  return { state: 'ready', bankDay: { source: 'statement', rows, covers: ALL, statement } }
}

const ALL = new Set<What>([
  ...(['payment', 'refund', 'payout', 'payout_return', 'fee', 'fee_return'] as const),
])
