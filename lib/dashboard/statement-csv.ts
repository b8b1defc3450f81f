import { readTimeZone } from '#lib/accounts/queries.ts'
import { csvLine } from '#lib/core/csv.ts'
import type { Mode } from '#lib/core/mode.ts'
import { walkStatement } from '#lib/dashboard/statement.ts'
import { toSpan } from '#lib/dashboard/statement-list.ts'
import {
  ENTRY_FIELDS,
  entryToWire,
  KIND_OF,
  type StatementFilter,
} from '#lib/dashboard/statement-wire.ts'
import { findStatementRange } from '#lib/ledger/statement.ts'

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
