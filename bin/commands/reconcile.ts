import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { requireOption, withRuntime } from '#bin/command-line.ts'
import { findConnection, listConnections } from '#lib/banks/connections.ts'
import { refuse } from '#lib/core/errors.ts'
import { dayOf } from '#lib/core/locale.ts'
import { formatDecimalAmount } from '#lib/core/money.ts'
import { BALANCE_TERMS, readConnectionBalance } from '#lib/operator/reconciliation/balance.ts'
import {
  type DayLine,
  isDay,
  listReconciledDays,
  requestDays,
} from '#lib/operator/reconciliation/claim-day.ts'
import { createDayReconciler } from '#lib/operator/reconciliation/reconcile.ts'

/** Time for banks to make the statements; what is not read by then is read by the worker. */
const WAIT_MAX_MS = 5 * 60_000
const POLL_MS = 500
const DAYS_MAX = 92

interface Period {
  from: string
  to: string
}

/**
 * Holds days of one connection, or of all, against the books and prints them: connection, day, state and
 * counts, then each open item. Exit code 0 only if no day is unread and no item open.
 */
export async function reconcile(args: string[]): Promise<void> {
  const options = { from: { type: 'string' }, to: { type: 'string' } } as const
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  const from = requireDay(values.from, '--from')
  const period = { from, to: requireDay(values.to ?? from, '--to') }
  if (period.to < period.from)
    throw refuse('invalid_input', { message: '--to must not be before --from' })
  const length = (Date.parse(period.to) - Date.parse(period.from)) / 86_400_000 + 1
  if (length > DAYS_MAX)
    throw refuse('invalid_input', { message: `at most ${DAYS_MAX} days at once` })
  await withRuntime(async () => {
    const [ref] = positionals
    const connections = ref ? [await findConnection(ref)] : await listOpenConnections()
    const beganAt = new Date()
    for (const { id } of connections) await requestDays(id, period, beganAt)
    await readRequested(connections, period, beganAt)
    for (const connection of connections) await printDays(connection, period, beganAt)
  })
}

function requireDay(text: string | undefined, option: string): string {
  const day = requireOption(text, option)
  if (!isDay(day))
    throw refuse('invalid_input', { message: `${option} must be a date such as 2026-11-20` })
  if (day > dayOf(new Date()))
    throw refuse('invalid_input', { message: `${option} must not be after today` })
  return day
}

async function listOpenConnections() {
  const connections = await listConnections()
  return connections.filter(({ state, environment }) => {
    return environment === 'production' && state !== 'closed' && state !== 'unserved'
  })
}

/** Reads the days here, beside the worker, until each is read or could not be. */
async function readRequested(
  connections: { id: string }[],
  period: Period,
  beganAt: Date,
): Promise<void> {
  const reconciler = createDayReconciler()
  const isWaiting = async ({ id }: { id: string }) => {
    const days = await listReconciledDays(id, period)
    return days.some(({ readAt, flaw }) => flaw === null && (readAt ?? 0) < beganAt)
  }
  while (Date.now() - beganAt.getTime() < WAIT_MAX_MS) {
    await reconciler.run()
    await reconciler.idle()
    const waiting = await Promise.all(connections.map(isWaiting))
    if (!waiting.includes(true)) return
    await sleep(POLL_MS)
  }
}

async function printDays(
  { id, name }: { id: string; name: string },
  period: Period,
  beganAt: Date,
): Promise<void> {
  for (const line of await listReconciledDays(id, period)) {
    const isRead = line.flaw === null && line.readAt !== null && line.readAt >= beganAt
    process.stdout.write(`${[name, line.day, describeState(line, isRead)].join('\t')}\n`)
    for (const { kind, key, facts } of line.items)
      process.stdout.write(`\t${[kind, key, JSON.stringify(facts)].join('\t')}\n`)
    if (!isRead || line.items.length > 0) process.exitCode = 1
  }
  const { terms, expected, bank, rest } = await readConnectionBalance(id)
  const parts = BALANCE_TERMS.map(term => `${term} ${formatDecimalAmount(terms[term])}`)
  const format = (amount: number | null) =>
    amount === null ? 'unknown' : formatDecimalAmount(amount)
  const sums = `expected ${format(expected)}, bank ${format(bank)}, rest ${format(rest)}`
  process.stderr.write(`${name}: ${parts.join(', ')}; ${sums}\n`)
}

function describeState({ state, flaw, counts, source }: DayLine, isRead: boolean): string {
  if (!isRead) return `unread\t${flaw ?? 'not read yet'}`
  const numbers = Object.entries(counts).map(([name, count]) => `${name} ${count}`)
  return `${state}\tby ${source}, ${numbers.join(', ')}`
}
