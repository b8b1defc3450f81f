/**
 * Sends due orders of a kind to a bank that lives in the parent, and asks about them. Hangs before the step that
 * it is given: a statement, a call of the bank or its response. Without one, it reports all steps at its end. Ends with its parent.
 */

import { Client } from 'pg'
import { registerAdapter } from '#lib/banks/served.ts'
import type { OrderKind } from '#lib/orders/order.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { createSender, makeOrdersDue } from '#lib/testing/orders.ts'

const [kind, stopAt] = process.argv.slice(2)
process.on('disconnect', () => process.exit(0))

/** Steps by their names: which number a step has depends on what runs beside it. */
const steps: string[] = []
const times = new Map<string, number>()
async function pass(name: string): Promise<void> {
  const time = (times.get(name) ?? 0) + 1
  times.set(name, time)
  const step = `${name} (${time})`
  steps.push(step)
  if (step !== stopAt) return
  process.send?.({ reached: step })
  await new Promise(() => {})
}

const { query } = Client.prototype as { query: (...args: unknown[]) => Promise<unknown> }
Client.prototype.query = async function (this: Client, ...args: unknown[]) {
  const [config] = args as [{ text?: string } | string]
  await pass(typeof config === 'string' ? config : (config.text ?? ''))
  return query.apply(this, args)
} as typeof Client.prototype.query

const answers = new Map<number, (answer: unknown) => void>()
process.on('message', ({ call, answer }: { call: number; answer: unknown }) =>
  answers.get(call)?.(answer),
)
const askParent = (method: string, order: unknown) =>
  new Promise(resolve => {
    const call = answers.size
    answers.set(call, resolve)
    process.send?.({ call, method, order })
  })

const calls = ['sendPayout', 'getPayout', 'refundCharge', 'getRefund'].map(method => [
  method,
  async (order: unknown) => {
    await pass(`before ${method}`)
    const answer = await askParent(method, order)
    await pass(`after ${method}`)
    return answer
  },
])
const bank = Object.assign(new StubBank(), { payoutsInFlight: 1 }, Object.fromEntries(calls))
registerAdapter('efi', () => bank)
const { run, idle } = createSender(kind as OrderKind)
// Two calls end an order. On a busy machine a round may end before the first.
const isEnded = () => steps.filter(step => step.startsWith('before ')).length === 2
for (let round = 0; round < 20 && !isEnded(); round++) {
  await run()
  await idle()
  await makeOrdersDue()
}
process.send?.({ steps })
