import { once } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import { listFindings } from '#e2e/day/checks.ts'
import { Driver } from '#e2e/day/driver.ts'
import { type Hour, makePlan, type PaymentKind, type Plan } from '#e2e/day/plan.ts'
import { openStage } from '#e2e/day/stage.ts'
import { Time, waitFor } from '#e2e/day/time.ts'
import { CALM } from '#e2e/day/weather.ts'
import type { Fault } from '#e2e/psp/faults.ts'
import type { Habits } from '#e2e/psp/habits.ts'
import type { SettingsChange } from '#e2e/psp/settings.ts'
import { openEfi } from '#lib/banks/efi/adapter.ts'
import type { Connection, Gateway } from '#lib/banks/gateway.ts'
import { registerAdapter, unregisterAdapters } from '#lib/banks/served.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { createFront } from '#lib/http/front.ts'
import { runAsOwner } from '#lib/testing/fixtures.ts'
import { startWorker } from '#lib/worker/worker.ts'

/** A mistake that the adapter of this process makes. */
type Flaw = (gateway: Gateway) => Partial<Gateway>

afterEach(unregisterAdapters)

function breakAdapter(flaw: Flaw): void {
  registerAdapter('efi', (connection: Connection, lookup) => {
    const gateway = openEfi(connection, lookup)
    return gateway && { ...gateway, ...flaw(gateway) }
  })
}

/** The web process and a worker, in this process: only its adapter and database are broken. */
async function serveHere(settings: Record<string, string>) {
  const front = await createFront(async (_request, response) => {
    response.writeHead(404).end()
  })
  front.listen(Number(settings.PORT), '127.0.0.1')
  await once(front, 'listening')
  const worker = startWorker()
  return {
    async stop() {
      await worker.stop()
      front.closeAllConnections()
      front.close()
    },
  }
}

const QUIET_HOUR: Hour = {
  weather: 'calm',
  settings: CALM,
  faults: [],
  revokesTokens: false,
  killed: null,
  charges: [],
  payouts: [],
  refunds: [],
}

function planFew(
  payments: PaymentKind[],
  changes: { settings?: SettingsChange; faults?: Fault[]; habits?: Partial<Habits> } = {},
): Plan {
  const charges = payments.map((payment, number) => ({
    number,
    account: 0,
    amount: 10_000 + number,
    expiresInS: 3_600,
    payment,
  }))
  const payout = { number: 0, account: 0, amount: 1_000, key: 'payee-0@example.com' }
  const { settings = CALM, faults, habits = {} } = changes
  const hours: Hour[] = [{ ...QUIET_HOUR, settings, charges }]
  if (faults) hours.push({ ...QUIET_HOUR, faults, payouts: [payout] })
  return { seed: 0, accounts: 1, payees: {}, habits, hours }
}

/** Runs a plan against the broken product; returns what the checks of a day find. */
async function findIn(plan: Plan, prepare = async () => {}): Promise<string[]> {
  const { accounts, payees } = plan
  const stage = await openStage({ accounts, payees, serve: serveHere })
  const time = await Time.open()
  try {
    await prepare()
    const driver = new Driver(stage, time, null)
    await driver.run(plan)
    // The worker may send an order after the last request was acknowledged, and then all faults end.
    await waitFor('the faults', async () => (await stage.bank.run('countFaults')) === 0)
    await driver.waitUntilQuiet()
    return await listFindings(stage, time)
  } finally {
    await time.close()
    await stage.close()
  }
}

const LOST_RESPONSE: Fault = {
  kind: 'reset',
  method: 'PUT',
  path: '/v3/gn/pix/',
  hasActed: true,
}
const LYING: SettingsChange = { ...CALM, notices: { amountFactor: 100 } }
const PAYMENTS: PaymentKind[] = ['exact', 'wrong amount', 'no txid']

test('without a flaw, the checks find nothing', async () => {
  const plan = planFew(PAYMENTS, { settings: LYING, faults: [LOST_RESPONSE] })
  expect(await findIn(plan)).toEqual([])
})

test('a payment that the bank gives back by itself is found if it is not booked', async () => {
  const plan = () => planFew(PAYMENTS, { habits: { returnsPayments: 1 } })
  expect(await findIn(plan())).toEqual([])
  const withoutReturns = <Payment extends object>(payment: Payment) => ({ ...payment, returns: [] })
  breakAdapter(gateway => ({
    async getPayment(id, signal) {
      const result = await gateway.getPayment?.(id, signal)
      if (result?.outcome !== 'ok' || !result.value) return result ?? expect.unreachable()
      return { ...result, value: withoutReturns(result.value) }
    },
    async listPayments(since, cursor, signal) {
      const result = await gateway.listPayments?.(since, cursor, signal)
      if (result?.outcome !== 'ok') return result ?? expect.unreachable()
      const items = result.value.items.map(withoutReturns)
      return { ...result, value: { ...result.value, items } }
    },
    async listReturnedPayments() {
      return { outcome: 'ok', value: { items: [], nextCursor: null } }
    },
  }))
  const found = await findIn(plan())
  expect(found).toContainEqual(expect.stringMatching(/^return D\w+ at the bank is not of Troco$/))
})

test('payments that are booked without their unique end-to-end id are found', async () => {
  const found = await findIn(planFew(PAYMENTS), async () => {
    await runAsOwner('ALTER TABLE booked_payments DROP CONSTRAINT booked_payments_pkey')
    await runAsOwner('DROP INDEX unmatched_payments_connection_id_end_to_end_id_key')
  })
  expect(found).toContainEqual(expect.stringMatching(/^payment E\w+ is booked \d+ times$/))
  expect(found).toContainEqual(expect.stringMatching(/^the balance at the bank is/))
})

test('an amount that is taken from a notice is found', async () => {
  const amounts = new Map<string, number>()
  breakAdapter(gateway => ({
    parseWebhook(body) {
      for (const { txid, valor } of JSON.parse(body).pix ?? [])
        amounts.set(txid, Math.round(Number(valor) * 100))
      return gateway.parseWebhook?.(body) ?? []
    },
    async getCharges(txids, signal) {
      const result = await gateway.getCharges(txids, signal)
      if (result.outcome !== 'ok') return result
      for (const [txid, state] of result.value.states)
        if (state.state === 'paid')
          for (const payment of state.payments) payment.amount = amounts.get(txid) ?? payment.amount
      return result
    },
  }))
  const found = await findIn(planFew(['wrong amount', 'exact'], { settings: LYING }))
  expect(found).toContainEqual(expect.stringMatching(/^payment E\w+ is 10001 and 1000100$/))
})

test('a payout that is sent again under a new id is found', async () => {
  breakAdapter(gateway => ({
    async sendPayout(order, signal) {
      const result = await gateway.sendPayout(order, signal)
      if (result.outcome !== 'unknown') return result
      return gateway.sendPayout({ ...order, id: removeHyphens(newId()) }, signal)
    },
  }))
  const found = await findIn(planFew(['exact', 'exact'], { faults: [LOST_RESPONSE] }))
  expect(found).toContain('payee-0@example.com was paid 2 times')
  expect(found).toContainEqual(expect.stringMatching(/at the bank is not of Troco$/))
})

test('a seed makes the same plan again, and another seed another one', () => {
  const size = { accounts: 2, charges: 24, payouts: 8, refunds: 4 }
  expect(makePlan(7, size)).toEqual(makePlan(7, size))
  expect(makePlan(7, size)).not.toEqual(makePlan(8, size))
})
