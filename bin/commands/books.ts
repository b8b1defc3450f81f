import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { counted, requireOption, withRuntime } from '#bin/command-line.ts'
import { findAccount } from '#lib/accounts/queries.ts'
import { findConnection, listConnections } from '#lib/banks/connections.ts'
import { refuse } from '#lib/core/errors.ts'
import { OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { dayOf } from '#lib/core/locale.ts'
import { formatDecimalAmount } from '#lib/core/money.ts'
import { connect } from '#lib/db/client.ts'
import { correctAlone } from '#lib/differences/corrections.ts'
import { listOpenItems } from '#lib/differences/differences.ts'
import { BANK, OPERATOR } from '#lib/differences/states.ts'
import { parseFields } from '#lib/http/input.ts'
import { verifyLedger } from '#lib/ledger/check.ts'
import { correctionRequest } from '#lib/operator/differences/schema.ts'
import { BALANCE_TERMS, readConnectionBalance } from '#lib/operator/reconciliation/balance.ts'
import {
  type DayLine,
  isDay,
  listReconciledDays,
  requestDays,
} from '#lib/operator/reconciliation/claim-day.ts'
import { createDayReconciler } from '#lib/operator/reconciliation/reconcile.ts'
import { endAlone } from '#lib/orders/end.ts'
import { END_OUTCOMES, type EndOutcome } from '#lib/orders/states.ts'
import { ORDER_RULES } from '#lib/worker/worker.ts'

/** Prints each check with its first wrong row. Exit code 1 if any check fails. */
export async function printLedgerChecks(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { account: { type: 'string' } } })
  await withRuntime(async () => {
    const account = values.account ? await findLedger(values.account) : null
    const database = connect({ poolMax: 2 })
    try {
      const { transfers, entries, ledgers, findings } = await verifyLedger(database, account?.id)
      const ownerText = account ? ` of ${account.name}` : ''
      process.stdout.write(
        `${counted(transfers, 'transfer')}, ${counted(entries, 'entry', 'entries')}, ${counted(ledgers, 'balance')}${ownerText}\n`,
      )
      for (const { invariant, violation } of findings) {
        process.stdout.write(
          `${violation ? 'BROKEN' : 'holds '}  ${invariant}${violation ? `: ${violation}` : ''}\n`,
        )
      }
      if (findings.some(finding => finding.violation)) process.exitCode = 1
    } finally {
      await database.$disconnect()
    }
  })
}

async function findLedger(emailOrId: string): Promise<{ id: string; name: string }> {
  return emailOrId === OPERATOR_ACCOUNT_ID
    ? { id: OPERATOR_ACCOUNT_ID, name: 'the operator' }
    : findAccount(emailOrId)
}

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

/** Prints what differs, oldest first: time, kind, connection, facts, state and id, separated by tabs. */
export async function printOpenItems(): Promise<void> {
  await withRuntime(async () => {
    for (const { created_at, kind, connection, facts, state, id } of await listOpenItems()) {
      const line = [created_at, kind, connection, JSON.stringify(facts), state, id]
      process.stdout.write(`${line.join('\t')}\n`)
    }
  })
}

/** For an installation with a single admin: two admins settle a difference on its page. */
export async function correctBooks(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      from: { type: 'string' },
      to: { type: 'string' },
      amount: { type: 'string' },
      reason: { type: 'string' },
      attachment: { type: 'string' },
    },
  })
  const itemId = requireOption(positionals[0], '<id>')
  const [from, to] = [requireOption(values.from, '--from'), requireOption(values.to, '--to')]
  const amount = Number(requireOption(values.amount, '--amount'))
  const reason = requireOption(values.reason, '--reason')
  const file = await readFile(requireOption(values.attachment, '--attachment'))
  await withRuntime(async () => {
    const parties = { from: await findParty(from), to: await findParty(to) }
    const fields = { ...parties, amount, reason, attachment: file.toString('base64') }
    const { attachment: _, ...request } = parseFields(correctionRequest, fields)
    process.stdout.write(`${await correctAlone({ itemId, ...request, attachment: file })}\n`)
  })
}

async function findParty(text: string): Promise<string> {
  return [BANK, OPERATOR].includes(text) ? text : (await findAccount(text)).id
}

/** For an installation with a single admin: two admins end an order on the page of its account or difference. */
export async function endOrder(args: string[]): Promise<void> {
  const options = { as: { type: 'string' }, reason: { type: 'string' } } as const
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options })
  const id = requireOption(positionals[0], '<id>')
  const outcome = readOutcome(requireOption(values.as, '--as'))
  const reason = requireOption(values.reason, '--reason')
  await withRuntime(async () => {
    await endAlone({ id, outcome, reason }, ORDER_RULES)
    process.stdout.write(`${id}\n`)
  })
}

function readOutcome(text: string): EndOutcome {
  const outcome = END_OUTCOMES.find(known => known.replace('_', '-') === text)
  if (outcome) return outcome
  throw refuse('invalid_input', { message: '--as must be sent or not-sent' })
}
