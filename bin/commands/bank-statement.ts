import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { requireOption, withRuntime } from '#bin/command-line.ts'
import { findConnection } from '#lib/banks/connections.ts'
import type { Statement, StatementEntry } from '#lib/banks/gateway.ts'
import { withConnectionJournal } from '#lib/banks/record-call.ts'
import { gatewayOfConnection } from '#lib/banks/served.ts'
import { refuse } from '#lib/core/errors.ts'
import { formatDecimalAmount } from '#lib/core/money.ts'

/** With the pauses of the bank, about three minutes. */
const READS_MAX = 30
/** Above the time in which a bank sends a file of many thousand records. */
const TIMEOUT_MS = 60_000

/**
 * Prints the movements of a day at the bank: time, kind, amount, end-to-end id, id of the return, of the
 * order and txid. Exit code 0 only if they are all that the bank reports and its balances agree.
 */
export async function printStatement(args: string[]): Promise<void> {
  const options = { day: { type: 'string' }, report: { type: 'string' } } as const
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  const connectionRef = requireOption(positionals[0], '<name|id>')
  const day = requireOption(values.day, '--day')
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day))
    throw refuse('invalid_input', { message: '--day must be a date such as 2026-11-20' })
  await withRuntime(async () => {
    const { id } = await findConnection(connectionRef)
    const statement = await readWholeStatement(id, day, values.report ?? null)
    for (const entry of statement.entries) process.stdout.write(`${formatEntry(entry)}\n`)
    printTotals(statement)
  })
}

/** Orders the statement, unless a report is given, and waits for it. */
export async function readWholeStatement(
  id: string,
  day: string,
  report: string | null,
): Promise<Statement> {
  const gateway = await gatewayOfConnection(id)
  const { readStatement } = withConnectionJournal({ id, gateway }, { timeoutMs: TIMEOUT_MS })
  if (!readStatement) throw refuse('not_found', 'This bank reports no statement')
  let cursor = report
  for (let count = 0; count < READS_MAX; count++) {
    const result = await readStatement(day, cursor)
    if (result.outcome !== 'ok') {
      const text = result.outcome === 'rejected' ? result.bankText : result.reason
      throw refuse('not_found', `No statement: ${text ?? result.outcome}${continueBy(cursor)}`)
    }
    const { value } = result
    if (value.state === 'ready') return value.statement
    if (value.state === 'unreadable')
      throw refuse('not_found', `The statement cannot be read (${value.flaw})${continueBy(cursor)}`)
    cursor = value.state === 'making' ? value.cursor : null
    if (value.state === 'making') await sleep(value.pauseMs)
  }
  throw refuse('not_found', `The bank has not made the statement yet${continueBy(cursor)}`)
}

export function formatEntry({ at, kind, amount, ...ids }: StatementEntry): string {
  const { endToEndId, returnId, orderId, txid } = ids
  const fields = [at.toISOString(), kind, formatDecimalAmount(amount)]
  return [...fields, ...[endToEndId, returnId, orderId, txid].map(it => it ?? '')].join('\t')
}

function continueBy(cursor: string | null): string {
  return cursor === null ? '' : `. Read it again with \`--report ${cursor}\``
}

function printTotals({ opening, closing, difference, missing, unread }: Statement): void {
  const format = (amount: number | null) =>
    amount === null ? 'unknown' : formatDecimalAmount(amount)
  for (const record of unread) process.stderr.write(`Not read: ${record}\n`)
  if (missing !== 0)
    process.stderr.write(`Records that the bank counts and did not send: ${missing}\n`)
  process.stderr.write(
    `Opening balance ${format(opening)}, closing balance ${format(closing)}, difference ${format(difference)}\n`,
  )
  if (difference !== 0 || missing !== 0 || unread.length > 0) process.exitCode = 1
}
