import { type List, type ListFailure, readPages } from '#lib/banks/list-reader.ts'
import { listPauseMs } from '#lib/banks/pauses.ts'
import { withConnectionJournal } from '#lib/banks/record-call.ts'
import type { ServedConnection } from '#lib/banks/served.ts'
import type { Statement } from '#lib/banks/statement.ts'
import { startOf } from '#lib/operator/reconciliation/calendar.ts'
import { rowsOfLists } from '#lib/operator/reconciliation/list-rows.ts'
import type { BankRow, What } from '#lib/operator/reconciliation/schema.ts'

/** Pause before a day that could not be read is read again. */
export const RETRY_PAUSE_MS = 60_000
/** A day as the bank has it. */
export interface BankDay {
  source: 'lists' | 'statement'
  rows: BankRow[]
  covers: Set<What>
  /** Null by lists. */
  statement: Omit<Statement, 'entries'> | null
}

/** The day, or when to go on and with which statement. `flaw`: why it could not be read. */
export type BankDayRead =
  | { state: 'ready'; bankDay: BankDay }
  | { state: 'later'; pauseMs: number; cursor: string | null; flaw: string | null }

/** Reads a day by the lists of the bank. `hold` renews the lease. */
export async function readByLists(
  connection: ServedConnection,
  day: string,
  hold: () => Promise<boolean>,
): Promise<BankDayRead> {
  const { listPayments, listSentPayouts } = withConnectionJournal(connection)
  const payments = await readList(listPayments, day, hold)
  if ('failure' in payments) return readAgain(payments.failure, null)
  const payouts = await readList(listSentPayouts, day, hold)
  if ('failure' in payouts) return readAgain(payouts.failure, null)
  const covers = new Set<What>([
    ...(listPayments ? (['payment'] as const) : []),
    ...(listSentPayouts ? (['payout'] as const) : []),
  ])
  const rows = rowsOfLists(day, payments.items, payouts.items)
  return { state: 'ready', bankDay: { source: 'lists', rows, covers, statement: null } }
}

/** Reads a list from the beginning of the day on. Ends when the lease is lost. */
async function readList<Item>(
  list: List<Item> | undefined,
  day: string,
  hold: () => Promise<boolean>,
): Promise<{ items: Item[] } | { failure: ListFailure }> {
  const items: Item[] = []
  if (!list) return { items }
  const read = await readPages(list, { since: startOf(day), cursor: null }, async page => {
    items.push(...page.items)
    return page.nextCursor === null || hold()
  })
  if (read.end === 'read') return { items }
  return { failure: read.end === 'failed' ? read.failure : UNFINISHED[read.end] }
}

const UNFINISHED = {
  stopped: { outcome: 'unknown', reason: 'the lease was lost' },
  endless: { outcome: 'unknown', reason: 'the list never ends' },
} as const

export function readAgain(failure: ListFailure | undefined, cursor: string | null): BankDayRead {
  const pauseMs = failure ? listPauseMs(failure, RETRY_PAUSE_MS) : RETRY_PAUSE_MS
  return { state: 'later', pauseMs, cursor, flaw: failure?.outcome ?? 'unknown' }
}
