import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { requireOption, withRuntime } from '#bin/command-line.ts'
import { findConnection } from '#lib/banks/connections.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import { formatDecimalAmount } from '#lib/core/money.ts'
import { formatReason } from '#lib/core/reason.ts'
import { createOrderSender } from '#lib/orders/send.ts'
import { beginTrial } from '#lib/trials/begin.ts'
import { trialOrders } from '#lib/trials/orders.ts'
import { TRIAL_PROBLEMS } from '#lib/trials/problems.ts'
import { findLatestTrial } from '#lib/trials/queries.ts'
import type { Trial } from '#lib/trials/schema.ts'
import type { StepCode, StepState, StepView, TrialStep } from '#lib/trials/states.ts'
import { advanceTrials } from '#lib/worker/connection-trials.ts'

const ACTOR = { type: 'command_line' } as const
const POLL_MS = 500

const LABELS: Record<Exclude<StepState, 'upcoming'>, string> = {
  waiting: 'WAIT ',
  done: 'ok   ',
  failed: 'WRONG',
  skipped: 'NOTE ',
}

const WAITING: Record<TrialStep, (found: Trial) => string> = {
  code: () => 'the bank makes a code',
  payment: ({ amount, expires_at, br_code }) =>
    `pay R$ ${formatDecimalAmount(amount)} by ${expires_at?.slice(11, 16)} UTC with the app of another bank:\n${br_code}`,
  notice: () => 'for the notice of the payment, up to 10 minutes',
  list: () => 'for the payment in the list of the bank, up to 10 minutes',
  refund: () => 'the bank gives the payment back',
  payout: ({ payout_amount, key }) =>
    `the bank pays R$ ${formatDecimalAmount(payout_amount)} to ${key}`,
}

const DONE: Record<TrialStep, (found: Trial) => string> = {
  code: ({ id }) => `the bank made a code, txid ${removeHyphens(id)}`,
  payment: () => 'the bank names the payment',
  notice: () => 'a notice of the payment came',
  list: () => 'the list of the bank has the payment',
  refund: () => 'the payment went back',
  payout: ({ key }) => `the payout reached ${key}`,
}

const REASONS: Record<StepCode, string> = {
  refused: 'the bank refused it',
  blocked: 'the bank refuses all such calls: see `bank check`',
  no_code: 'the bank did not answer for an hour',
  not_paid: 'nobody paid in time. Repeat the command for a new code',
  other_amount: 'another amount was paid, which waits among the differences',
  not_noticed: 'none came within 10 minutes: see `bank register-notices`',
  not_listed: 'it was not there within 10 minutes: ask the bank',
  not_sent: 'the bank took no order for an hour. Repeat the trial when the cause is gone',
  sent_before: 'an earlier trial has paid the key: no second payout is sent',
  no_payouts: 'the connection pays nothing out',
}

/**
 * Tries a connection with a few cents and prints each step. Ended by Ctrl-C, the worker goes on, and the
 * same command follows the same trial. Exit code 0 only if each step was done.
 */
export async function tryOut(args: string[]): Promise<void> {
  const options = { key: { type: 'string' }, again: { type: 'boolean' } } as const
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  const connectionRef = requireOption(positionals[0], '<name|id>')
  await withRuntime(async () => {
    const { id, name } = await findConnection(connectionRef)
    const wish = { connectionId: id, pixKey: values.key, isAgain: values.again ?? false }
    const begun = await beginTrial({ ...wish, actor: ACTOR })
    if (begun.ended_at) process.stderr.write('This trial has passed before: --again repeats it\n')
    const ended = await follow(id, begun)
    process.stdout.write(`${name} ${ended.status === 'passed' ? 'passed' : 'failed'} its trial\n`)
    if (ended.status !== 'passed') process.exitCode = 1
  })
}

/** Also makes the calls that are due: no worker may be running. */
async function follow(connectionId: string, begun: Trial): Promise<Trial> {
  const orders = createOrderSender({ trial: trialOrders })
  const printed = new Set<string>()
  const print = (text: string) => {
    if (!printed.has(text)) process.stdout.write(text)
    printed.add(text)
  }
  for (let found: Trial = begun; ; found = (await findLatestTrial(connectionId)) ?? found) {
    for (const step of found.steps) print(formatStep(found, step))
    for (const problem of found.problems) print(`      ${formatReason(TRIAL_PROBLEMS, problem)}\n`)
    if (found.ended_at) return found
    await advanceTrials()
    await orders.run()
    await sleep(POLL_MS)
  }
}

function formatStep(found: Trial, { step, state, code, text }: StepView): string {
  if (state === 'upcoming' || (state === 'skipped' && code === null)) return ''
  const sentences = state === 'waiting' ? WAITING : DONE
  const sentence = code ? REASONS[code] : sentences[step](found)
  return `${LABELS[state]} ${step}: ${sentence}${text ? ` (${text})` : ''}\n`
}
