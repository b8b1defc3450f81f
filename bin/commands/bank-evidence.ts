import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { readConnectionRef, requireOption, withRuntime } from '#bin/command-line.ts'
import { findConnection } from '#lib/banks/connections.ts'
import type { Statement, StatementEntry } from '#lib/banks/gateway.ts'
import { withConnectionJournal } from '#lib/banks/record-call.ts'
import { gatewayOfConnection } from '#lib/banks/served.ts'
import { findCharge } from '#lib/charges/list.ts'
import { createChargeReceiptUrl } from '#lib/charges/urls.ts'
import { isTrocoError, refuse } from '#lib/core/errors.ts'
import { removeHyphens, TRIAL_ACCOUNT_ID } from '#lib/core/ids.ts'
import { dayOf } from '#lib/core/locale.ts'
import { formatDecimalAmount } from '#lib/core/money.ts'
import { db } from '#lib/db/client.ts'
import { COMMAND_LINE_VERSION } from '#lib/docs/package.ts'
import type { Trial } from '#lib/trials/schema.ts'
import { findLatestTrial, listTrialCalls } from '#lib/trials/trial.ts'
import { createWithdrawalReceiptUrl, findWithdrawal } from '#lib/withdrawals/queries.ts'

/** Checks that need a real account and a person, who writes down the result. The steps of a trial cover the rest. */
const BY_PEOPLE = [
  'The app of the payer shows the name, the amount and the end-to-end id of the payment as the receipt does',
  'The payer has the refund, as a return of the payment and not as a Pix of its own',
  'The receiver has the withdrawal, with the name and the document of the company',
  'A withdrawal to a key that nobody has is rejected, and its page shows the reason of the bank',
  'A cent that is sent to a receiving key without a code is among the differences, and can be given back',
  'A code that is paid twice: the app refuses the second payment, or it is among the differences',
  'A receiver that sends a withdrawal back: it is credited again, and its page says so',
  'A refund or return made in the own app of the bank is booked, or among the differences',
  'The balance of the page of the connection is that of the own app of the bank',
  'The statement of the next day is green, with each fee',
  'A dispute (MED) that the bank opens is held, shown, answered and settled',
  'A renewed certificate: `bank renew`, then another trial',
]

/**
 * Prints, as Markdown, a checklist of what only a real account at the bank can show. What the latest trial has shown is
 * filled in, with the journaled calls, the lines of the statement and the receipts. No secret is among them.
 */
export async function printEvidence(args: string[]): Promise<void> {
  const connectionRef = readConnectionRef(args)
  await withRuntime(async () => {
    const { id } = await findConnection(connectionRef)
    const { name, kind, profile, environment } = await db().connection.findUniqueOrThrow({
      where: { id },
    })
    const trial = await findLatestTrial(id)
    const about = [kind, profile, environment].filter(Boolean).join(', ')
    print(`# Evidence of ${name} (${about})`)
    print(`Troco ${COMMAND_LINE_VERSION}, written at ${new Date().toISOString()}.`)
    print('## Trial')
    if (trial) await printTrial(id, trial)
    else print(`No trial yet: \`bank trial ${name}\``)
    print('## By hand')
    print(BY_PEOPLE.map(text => `- [ ] ${text}\n      Seen at, by whom, ids: `).join('\n'))
  })
}

const print = (text: string) => process.stdout.write(`${text}\n\n`)

async function printTrial(connectionId: string, trial: Trial): Promise<void> {
  print(`${trial.created_at}, ${trial.mode} mode: ${trial.status}.`)
  const steps = trial.steps.map(({ step, state, at, bank_id, code, text, refusal }) => {
    const facts = [at, bank_id, code, text, refusal].filter(Boolean).join(', ')
    return `- [${state === 'done' ? 'x' : ' '}] ${step}: ${state}${facts && ` (${facts})`}`
  })
  print(steps.join('\n'))
  print('### Calls')
  const calls = (await listTrialCalls(trial)).map(
    ({ at, operation, request, outcome, response }) =>
      `${at} ${operation} ${request}\n  ${outcome ?? 'no response'} ${response ?? ''}`,
  )
  print(`\`\`\`\n${calls.join('\n')}\n\`\`\``)
  print('### Lines of the statement')
  print(await describeStatement(connectionId, trial))
  print('### Receipts')
  const receipts = await listReceipts(trial)
  print(receipts.length > 0 ? receipts.map(url => `- ${url}`).join('\n') : 'None yet.')
}

/** Banks make the statement of a day after it. */
async function describeStatement(connectionId: string, trial: Trial): Promise<string> {
  const day = dayOf(new Date(trial.created_at))
  if (day >= dayOf(new Date())) return `Not before tomorrow: the statement of ${day} is incomplete.`
  const ids = new Set([removeHyphens(trial.id), ...trial.steps.flatMap(step => step.bank_id ?? [])])
  const isOfTrial = ({ endToEndId, returnId, txid }: StatementEntry) =>
    [endToEndId, returnId, txid].some(id => id !== null && ids.has(id))
  try {
    const { entries } = await readWholeStatement(connectionId, day, null)
    const lines = entries.filter(isOfTrial).map(formatEntry)
    return lines.length > 0
      ? `\`\`\`\n${lines.join('\n')}\n\`\`\``
      : `The statement of ${day} has no line with an id of the trial.`
  } catch (error) {
    if (isTrocoError(error)) return error.message
    throw error
  }
}

async function listReceipts({ id, mode }: Trial): Promise<string[]> {
  const charge = await findCharge(TRIAL_ACCOUNT_ID, mode, id)
  const withdrawal = await findWithdrawal(TRIAL_ACCOUNT_ID, mode, removeHyphens(id))
  const urls = [
    charge && (await createChargeReceiptUrl(charge)),
    withdrawal && (await createWithdrawalReceiptUrl(TRIAL_ACCOUNT_ID, withdrawal)),
  ]
  return urls.filter(url => url !== null)
}

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
async function readWholeStatement(
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

function formatEntry(entry: StatementEntry): string {
  const { at, kind, amount, endToEndId, returnId, orderId, txid } = entry
  const fields = [at.toISOString(), kind, formatDecimalAmount(amount)]
  const ids = [endToEndId, returnId, orderId, txid].map(id => id ?? '')
  return [...fields, ...ids].join('\t')
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
