import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { requireOption, withRuntime } from '#bin/command-line.ts'
import { findConnection } from '#lib/banks/connections.ts'
import { createVerifier, expireDueCharges } from '#lib/charges/due.ts'
import { formatDecimalAmount } from '#lib/core/money.ts'
import { createOrderSender } from '#lib/orders/send.ts'
import type { StepCode, StepState, StepView, Trial } from '#lib/trials/schema.ts'
import { beginTrial, continueTrials, findLatestTrial } from '#lib/trials/trial.ts'
import { askAboutNotices, ORDER_RULES } from '#lib/worker/worker.ts'

const ACTOR = { type: 'command_line' } as const
const POLL_MS = 500

const LABELS: Record<Exclude<StepState, 'upcoming'>, string> = {
  waiting: 'WAIT ',
  done: 'ok   ',
  failed: 'WRONG',
  skipped: 'NOTE ',
}

type Sentences = Record<StepView['step'], (found: Trial) => string>

const WAITING: Sentences = {
  charge: () => 'the bank makes a code',
  payment: ({ amount, expires_at, br_code }) =>
    `pay R$ ${formatDecimalAmount(amount)} by ${expires_at?.slice(11, 16)} UTC with the app of another bank:\n${br_code}`,
  notice: () => 'for the notice of the payment, up to 10 minutes',
  refund: ({ refund_amount }) => `the bank refunds R$ ${formatDecimalAmount(refund_amount)}`,
  withdrawal: ({ withdrawal_amount, key }) =>
    `the bank pays R$ ${formatDecimalAmount(withdrawal_amount)} to ${key}`,
}

const DONE: Sentences = {
  charge: () => 'the bank made a code, txid',
  payment: () => 'the bank reports the payment',
  notice: () => 'a notice of the payment came',
  refund: ({ refund_amount }) => `R$ ${formatDecimalAmount(refund_amount)} went back`,
  withdrawal: ({ key }) => `the rest reached ${key}`,
}

const REASONS: Record<StepCode, string> = {
  not_paid: 'nobody paid in time. Repeat the command for a new code',
  other_amount: 'another amount was paid, which waits among the differences',
  not_noticed: 'none came within 10 minutes: see `bank register-notices`',
  no_payouts: 'the connection pays nothing out',
}

/**
 * Tries a connection with a few cents and prints each step. Ended by Ctrl-C, the worker goes on, and the
 * same command follows the same trial. Exit code 0 only if each step was done.
 */
export async function tryOut(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    options: { key: { type: 'string' } },
    allowPositionals: true,
  })
  const connectionRef = requireOption(positionals[0], '<name|id>')
  await withRuntime(async () => {
    const { id, name } = await findConnection(connectionRef)
    const ended = await follow(
      id,
      await beginTrial({ connectionId: id, pixKey: values.key, actor: ACTOR }),
    )
    process.stdout.write(`${name} ${ended.status} its trial\n`)
    if (ended.status !== 'passed') process.exitCode = 1
  })
}

/** Also does the work that is due, of all accounts: no worker may be running. */
async function follow(connectionId: string, begun: Trial): Promise<Trial> {
  const [orders, verifier] = [createOrderSender(ORDER_RULES), createVerifier()]
  const printed = new Set<string>()
  for (let found: Trial = begun; ; found = (await findLatestTrial(connectionId)) ?? found) {
    for (const line of found.steps.map(step => formatStep(found, step))) {
      if (!printed.has(line)) process.stdout.write(line)
      printed.add(line)
    }
    if (found.status !== 'running') return found
    await askAboutNotices()
    await expireDueCharges(verifier)
    await continueTrials()
    await orders.run()
    await sleep(POLL_MS)
  }
}

function formatStep(
  found: Trial,
  { step, state, at, bank_id, code, text, refusal }: StepView,
): string {
  if (state === 'upcoming' || (state === 'skipped' && code === null)) return ''
  const sentences = state === 'waiting' ? WAITING : DONE
  const refused =
    state === 'failed' ? (refusal ? 'it was not requested' : 'the bank did not do it') : null
  const sentence = code ? REASONS[code] : (refused ?? sentences[step](found))
  const facts = [bank_id, state === 'done' && at].filter(Boolean).join(', ')
  const answer = text
    ? ` (the bank answered: ${text})`
    : refusal
      ? ` (Troco refused it: ${refusal})`
      : ''
  return `${LABELS[state]} ${step}: ${sentence}${facts && ` ${facts}`}${answer}\n`
}
