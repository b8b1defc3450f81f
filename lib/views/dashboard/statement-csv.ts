import { csvLine } from '#lib/base/csv.ts'
import type { Mode } from '#lib/base/mode.ts'
import { readTimeZone } from '#lib/rooms/accounts/queries.ts'
import { findStatementRange } from '#lib/services/ledger/statement.ts'
import { walkStatement } from '#lib/views/dashboard/statement.ts'
import { toSpan } from '#lib/views/dashboard/statement-list.ts'
import {
  ENTRY_FIELDS,
  entryToWire,
  KIND_OF,
  type StatementFilter,
} from '#lib/views/dashboard/statement-wire.ts'

export const CSV_TYPE = 'text/csv; charset=utf-8'

/** Streams a statement for programs: the file of the dashboard has the words and signs of a language. */
export async function writeStatement(accountId: string, mode: Mode, filter: StatementFilter) {
  const span = toSpan(filter, await readTimeZone(accountId))
  const range = await findStatementRange(accountId, mode, span)
  return {
    headers: { 'content-type': CSV_TYPE },
    chunks: writeLines(walkStatement(accountId, mode, range), filter.kind),
  }
}

async function* writeLines(
  pages: ReturnType<typeof walkStatement>,
  kind: StatementFilter['kind'],
): AsyncGenerator<string> {
  yield csvLine(ENTRY_FIELDS, 'en')
  for await (const rows of pages) {
    const chosen = kind ? rows.filter(row => row.kind === KIND_OF[kind]) : rows
    const entries = chosen.map(entryToWire)
    if (entries.length === 0) continue
    yield entries
      .map(entry =>
        csvLine(
          ENTRY_FIELDS.map(field => entry[field]),
          'en',
        ),
      )
      .join('')
  }
}
