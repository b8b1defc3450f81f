import { randomUUID } from 'node:crypto'
import { ApiError, requireTestToken, UsageError } from './api.mjs'
import { followEvents, readFeed } from './events.mjs'
import { printEvent } from './output.mjs'

const AMOUNT = 1_000
const WAIT_MAX_MS = 15_000
const PAYER = {
  client_name: 'Ana Beatriz Rocha',
  client_email: 'ana@example.com',
  client_doc: '529.982.247-25',
}

/** What makes each event happen; each returns the id that the event names. */
const STEPS = {
  'transaction.paid': api => endCharge(api, 'paid'),
  'transaction.expired': api => endCharge(api, 'expired'),
  'transaction.failed': api => endCharge(api, 'failed'),
  async 'transaction.refunded'(api) {
    const charge = await endCharge(api, 'paid')
    return (await post(api, `/transactions/${charge}/refunds`, {})).id
  },
  async 'transaction.refund_failed'(api) {
    const charge = await endCharge(api, 'paid', 'reject@example.com')
    return (await post(api, `/transactions/${charge}/refunds`, {})).id
  },
  'transaction.dispute_opened': openDispute,
  async 'transaction.dispute_closed'(api) {
    const dispute = await openDispute(api)
    await post(api, `/sandbox/disputes/${dispute}`, { outcome: 'won' })
    return dispute
  },
  'withdrawal.approved': api => withdraw(api, 'ana@example.com'),
  'withdrawal.rejected': api => withdraw(api, 'reject@example.com'),
  async 'withdrawal.returned'(api) {
    const withdrawal = await withdraw(api, 'hold@example.com')
    await post(api, `/sandbox/withdrawals/${withdrawal}`, { outcome: 'approved' })
    await post(api, `/sandbox/withdrawals/${withdrawal}`, { outcome: 'returned' })
    return withdrawal
  },
}

/** Makes an event happen in test mode and prints it. */
export async function triggerEvent(api, { json }, type) {
  requireTestToken(api, 'trigger')
  const step = Object.hasOwn(STEPS, type) ? STEPS[type] : null
  if (!step) {
    throw new UsageError(
      `troco trigger knows ${Object.keys(STEPS).join(', ')}. The simulated bank never causes ${type}`,
    )
  }
  await printCaused(api, { type, json, cause: () => step(api) })
}

/** Returns a command that ends a charge as the simulated bank or its payer would, and prints the event. */
export function endAs(outcome, name) {
  return async (api, { json }, reference) => {
    requireTestToken(api, name)
    const cause = async () => {
      const path = `/sandbox/transactions/${encodeURIComponent(reference)}`
      return (await post(api, path, { outcome })).transaction_id
    }
    await printCaused(api, { type: `transaction.${outcome}`, json, cause })
  }
}

/** Runs `cause`, which returns the id that the event names, and prints the event when it has happened. */
async function printCaused(api, { type, json, cause }) {
  const { last, epoch } = await readFeed(api)
  const subject = await cause()
  const giveUp = setTimeout(() => {
    process.stderr.write(`${type} of ${subject} did not happen within ${WAIT_MAX_MS / 1000} s\n`)
    process.exit(1)
  }, WAIT_MAX_MS)
  try {
    for await (const { event } of followEvents(api, { after: last, epoch, wanted: [type] })) {
      const { id } = event.refund ?? event.dispute ?? event.transaction ?? event.withdrawal
      if (id === subject) return printEvent(event, json)
    }
  } finally {
    clearTimeout(giveUp)
  }
}

async function openDispute(api) {
  const charge = await endCharge(api, 'paid')
  return (await post(api, `/sandbox/transactions/${charge}/disputes`, {})).id
}

async function endCharge(api, outcome, client_email = PAYER.client_email) {
  const external_id = `trigger-${randomUUID()}`
  const { transaction_id } = await post(api, '/transactions', {
    amount: AMOUNT,
    ...PAYER,
    client_email,
    external_id,
  })
  await post(api, `/sandbox/transactions/${transaction_id}`, { outcome })
  return transaction_id
}

/** Pays a charge first if the balance is too small. */
async function withdraw(api, pix_key) {
  const body = { amount: AMOUNT, pix_key }
  try {
    return (await post(api, '/withdrawals', body)).id
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'insufficient_balance') throw error
  }
  await endCharge(api, 'paid')
  return (await post(api, '/withdrawals', body)).id
}

async function post({ call }, path, body) {
  return (await call('POST', path, { body, key: randomUUID() })).data.data
}
