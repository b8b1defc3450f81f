import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { requireOption, withRuntime } from '#bin/command-line.ts'
import { removeHyphens } from '#lib/base/ids.ts'
import { formatDecimalAmount } from '#lib/base/money.ts'
import { formatReason } from '#lib/base/reason.ts'
import { tryConnections } from '#lib/edge/jobs/try-connections.ts'
import { findConnection } from '#lib/services/gateway/connections.ts'
import { createOrderSender } from '#lib/services/orders/send.ts'
import { beginTry } from '#lib/services/tries/begin.ts'
import { TRY_PROBLEMS } from '#lib/services/tries/problems.ts'
import { findLatestTry } from '#lib/services/tries/queries.ts'
import type { Try } from '#lib/services/tries/schema.ts'
import { tryOrders } from '#lib/services/tries/settle.ts'
import type { StepCode, StepState, StepView, TryStep } from '#lib/services/tries/states.ts'

const ACTOR = { type: 'command_line' } as const
const POLL_MS = 500

const LABELS: Record<Exclude<StepState, 'upcoming'>, string> = {
  waiting: 'WAIT ',
  done: 'ok   ',
  failed: 'WRONG',
  skipped: 'NOTE ',
}

const WAITING: Record<TryStep, (found: Try) => string> = {
  code: () => 'the bank makes a code',
  payment: ({ amount, expires_at, br_code }) =>
    `pay R$ ${formatDecimalAmount(amount)} by ${expires_at?.slice(11, 16)} UTC with the app of another bank:\n${br_code}`,
  notice: () => 'for the notice of the payment, up to 10 minutes',
  list: () => 'for the payment in the list of the bank, up to 10 minutes',
  refund: () => 'the bank gives the payment back',
  payout: ({ payout_amount, key }) =>
    `the bank pays R$ ${formatDecimalAmount(payout_amount)} to ${key}`,
}

const DONE: Record<TryStep, (found: Try) => string> = {
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
  not_sent: 'the bank took no order for an hour. Repeat the try when the cause is gone',
  sent_before: 'an earlier try has paid the key: no second payout is sent',
  no_payouts: 'the connection pays nothing out',
}

/**
 * Tries a connection with a few cents and prints each step. Ended by Ctrl-C, the worker goes on, and the
 * same command follows the same try. Exit code 0 only if each step was done.
 */
export async function tryOut(args: string[]): Promise<void> {
  const options = { key: { type: 'string' }, again: { type: 'boolean' } } as const
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  const connectionRef = requireOption(positionals[0], '<name|id>')
  await withRuntime(async () => {
    const { id, name } = await findConnection(connectionRef)
    const wish = { connectionId: id, pixKey: values.key, isAgain: values.again ?? false }
    const begun = await beginTry({ ...wish, actor: ACTOR })
    if (begun.ended_at) process.stderr.write('This try has passed before: --again repeats it\n')
    const ended = await follow(id, begun)
    process.stdout.write(`${name} ${ended.status === 'passed' ? 'passed' : 'failed'} its try\n`)
    if (ended.status !== 'passed') process.exitCode = 1
  })
}

/** Also makes the calls that are due: no worker may be running. */
async function follow(connectionId: string, begun: Try): Promise<Try> {
  const orders = createOrderSender({ trial: tryOrders })
  const printed = new Set<string>()
  const print = (text: string) => {
    if (!printed.has(text)) process.stdout.write(text)
    printed.add(text)
  }
  for (let found: Try = begun; ; found = (await findLatestTry(connectionId)) ?? found) {
    for (const step of found.steps) print(formatStep(found, step))
    for (const problem of found.problems) print(`      ${formatReason(TRY_PROBLEMS, problem)}\n`)
    if (found.ended_at) return found
    await tryConnections()
    await orders.run()
    await sleep(POLL_MS)
  }
}

function formatStep(found: Try, { step, state, code, text }: StepView): string {
  if (state === 'upcoming' || (state === 'skipped' && code === null)) return ''
  const sentences = state === 'waiting' ? WAITING : DONE
  const sentence = code ? REASONS[code] : sentences[step](found)
  return `${LABELS[state]} ${step}: ${sentence}${text ? ` (${text})` : ''}\n`
}
