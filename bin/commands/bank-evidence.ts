import { readConnectionRef, withRuntime } from '#bin/command-line.ts'
import { formatEntry, readWholeStatement } from '#bin/commands/bank-statement.ts'
import { findConnection } from '#lib/banks/connections.ts'
import type { StatementEntry } from '#lib/banks/gateway.ts'
import { findCharge } from '#lib/charges/list.ts'
import { createChargeReceiptUrl } from '#lib/charges/urls.ts'
import { isTrocoError } from '#lib/core/errors.ts'
import { removeHyphens, TRIAL_ACCOUNT_ID } from '#lib/core/ids.ts'
import { dayOf } from '#lib/core/locale.ts'
import { db } from '#lib/db/client.ts'
import { COMMAND_LINE_VERSION } from '#lib/docs/package.ts'
import type { Trial } from '#lib/trials/schema.ts'
import { findLatestTrial, listTrialCalls } from '#lib/trials/trial.ts'
import { findWithdrawal } from '#lib/withdrawals/queries.ts'
import { createWithdrawalReceiptUrl } from '#lib/withdrawals/receipt-url.ts'

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
  const steps = trial.steps.map(({ step, state, at, bank_id, code, text }) => {
    const facts = [at, bank_id, code, text].filter(Boolean).join(', ')
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
