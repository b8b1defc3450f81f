import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { pickSize, recordFigures } from '#e2e/torture/figures.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { db } from '#lib/db/client.ts'
import { type ApiProcess, startApiProcess } from '#lib/testing/api-process.ts'
import { addEndpoint } from '#lib/testing/deliveries.ts'
import {
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  makeToken,
} from '#lib/testing/fixtures.ts'
import { Random } from '#lib/testing/random.ts'
import { openReceiver, type Receiver } from '#lib/testing/receiver.ts'
import { chooseSeed } from '#lib/testing/seed.ts'
import { startWorkerProcess, type WorkerProcess } from '#lib/testing/worker-process.ts'

const random = new Random(chooseSeed(), 0)

inOwnDatabase()

const DURATION_MS = pickSize(6_000, 60_000)
const KILL_INTERVAL_MAX_MS = pickSize(1_500, 2_000)
const CLIENT_COUNT = 8
const SETTLE_MAX_MS = 120_000
/** How long a client retries: the key of a killed process becomes available after 60 s. */
const RETRY_MAX_MS = pickSize(4_000, 75_000)

let merchant: Account
let token: string
let receiver: Receiver
let webServers: ApiProcess[]
let workers: WorkerProcess[]
beforeEach(async () => {
  merchant = await makeMerchant()
  token = await makeToken(merchant.id)
  receiver = await openReceiver()
  await addEndpoint(merchant, `${receiver.url}/all`)
  webServers = [await startApiProcess(), await startApiProcess()]
  workers = [await startWorkerProcess(), await startWorkerProcess()]
})
afterEach(async () => {
  for (const web of webServers) await web.close()
  for (const worker of workers) await worker.kill()
  await receiver.close()
})

interface Acknowledged {
  charges: string[]
  paid: string[]
  withdrawals: string[]
  refunds: string[]
}

type ResponseData = Record<string, string | undefined>

/** Sends with one key to both servers in turn until one responds; null if none does. */
async function sendUntilResponse(
  path: string,
  body: object,
  key: string,
  deadline: number,
): Promise<ResponseData | null> {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'idempotency-key': key,
  }
  for (let attempts = 0; Date.now() < deadline + RETRY_MAX_MS; attempts++) {
    const url = `${webServers[attempts % webServers.length]?.url}/api${path}`
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    const response = await fetch(url, init).catch(() => null)
    const payload = await response?.json().catch(() => null)
    if (response?.ok && payload) return payload.data
    // Already final: the first request succeeded, and its response was lost.
    if (response && [409, 422].includes(response.status) && !response.headers.has('retry-after')) {
      return {}
    }
    await sleep(20)
  }
  return null
}

async function runClient(
  client: number,
  deadline: number,
  acknowledged: Acknowledged,
): Promise<void> {
  const chargeFields = { amount: 2_500, client_name: 'Ana', client_email: 'ana@example.com' }
  for (let round = 0; Date.now() < deadline; round++) {
    const post = (path: string, body: object) =>
      sendUntilResponse(path, body, `${client} ${round}`, deadline)
    const webhook_url = `${receiver.url}/charge`
    const body = { ...chargeFields, client_doc: '39053344705', webhook_url }
    const id = (await post('/transactions', body))?.transaction_id
    if (!id) continue
    acknowledged.charges.push(id)
    const isPaid = await post(`/sandbox/transactions/${id}`, { outcome: 'paid' })
    if (!isPaid) continue
    acknowledged.paid.push(id)
    const refund =
      round % 3 === 0 ? await post(`/transactions/${id}/refunds`, { amount: 500 }) : null
    if (refund?.id) acknowledged.refunds.push(refund.id)
    const payout = { amount: 1_000, pix_key: 'ana@example.com', pix_key_type: 'email' }
    const withdrawal = await post('/withdrawals', payout)
    if (withdrawal?.id) acknowledged.withdrawals.push(withdrawal.id)
  }
}

/** Kills one of the four processes at random times and replaces it; returns the number of kills. */
async function killRepeatedly(deadline: number): Promise<number> {
  let kills = 0
  for (; Date.now() < deadline; kills++) {
    await sleep(random.fraction() * KILL_INTERVAL_MAX_MS)
    const index = kills % 2
    if (random.fraction() < 0.5) {
      await webServers[index]?.close()
      webServers[index] = await startApiProcess()
    } else {
      await workers[index]?.kill()
      workers[index] = await startWorkerProcess()
    }
  }
  return kills
}

const countUnsettled = async () => {
  const where = { accountId: merchant.id, status: 'pending' }
  const counts = [
    await db().withdrawal.count({ where }),
    await db().refund.count({ where }),
    await db().delivery.count({ where }),
  ]
  return counts.reduce((sum, count) => sum + count, 0)
}

test(`two workers and two servers, killed at random under load for ${DURATION_MS / 1_000} s, lose and repeat nothing`, async () => {
  const acknowledged: Acknowledged = { charges: [], paid: [], withdrawals: [], refunds: [] }
  const deadline = Date.now() + DURATION_MS
  const clients = Array.from({ length: CLIENT_COUNT }, (_, client) =>
    runClient(client, deadline, acknowledged),
  )
  const [kills] = await Promise.all([killRepeatedly(deadline), ...clients])
  await expect.poll(countUnsettled, { timeout: SETTLE_MAX_MS, interval: 200 }).toBe(0)

  const accountId = merchant.id
  const rows = await db().charge.findMany({ where: { accountId } })
  const statuses = new Map(rows.map(({ id, status }) => [id, status]))
  expect(acknowledged.charges.filter(id => !statuses.has(id))).toEqual([])
  expect(acknowledged.paid.filter(id => statuses.get(id) !== 'paid')).toEqual([])
  const events = await db().event.findMany({ where: { accountId }, orderBy: { sequence: 'asc' } })
  expect(events.map(({ sequence }) => Number(sequence))).toEqual(
    events.map((_, index) => index + 1),
  )
  const eventKeys = events.map(({ type, subjectId, resource }) => {
    const { refund } = resource as { refund?: { id: string } }
    return `${type} ${refund?.id ?? subjectId}`
  })
  expect(new Set(eventKeys).size).toBe(eventKeys.length)
  const countOfType = (type: string) => eventKeys.filter(kind => kind.startsWith(`${type} `)).length
  expect(countOfType('transaction.paid')).toBe(
    rows.filter(({ status }) => status === 'paid').length,
  )

  const withdrawals = await db().withdrawal.findMany({ where: { accountId } })
  const refunds = await db().refund.findMany({ where: { accountId } })
  const settled = [...withdrawals, ...refunds].map(({ status }) => status)
  // A busy machine may not get to a withdrawal or a refund within the time of the load.
  expect(settled.filter(status => !['approved', 'completed'].includes(status))).toEqual([])
  expect(countOfType('withdrawal.approved')).toBe(withdrawals.length)
  expect(countOfType('transaction.refunded')).toBe(refunds.length)
  const ids = new Set([...withdrawals, ...refunds].map(({ id }) => id))
  expect([...acknowledged.withdrawals, ...acknowledged.refunds].filter(id => !ids.has(id))).toEqual(
    [],
  )
  const orders = await db().simulatorOrder.findMany({ where: { kind: { not: 'charge' } } })
  expect(orders).toHaveLength(withdrawals.length + refunds.length)

  const received = receiver.calls
    .filter(({ path }) => path === '/all')
    .map(({ text }) => JSON.parse(text))
  const firstSequences = new Map<string, number>()
  for (const { id, sequence } of received)
    if (!firstSequences.has(id)) firstSequences.set(id, sequence)
  expect([...firstSequences.keys()].toSorted()).toEqual(events.map(({ id }) => id).toSorted())
  const subjects = new Map<string, number[]>()
  for (const [id, sequence] of firstSequences) {
    const subject = events.find(event => event.id === id)?.subjectId ?? ''
    subjects.set(subject, [...(subjects.get(subject) ?? []), sequence])
  }
  const outOfOrder = [...subjects.values()].filter(
    sequences => sequences.join() !== sequences.toSorted((a, b) => a - b).join(),
  )
  expect(outOfOrder).toEqual([])
  await expectBalancedLedger(accountId)
  recordFigures('two workers, two web processes, kill -9', {
    kills,
    charges: acknowledged.charges.length,
    payments: acknowledged.paid.length,
    withdrawals: acknowledged.withdrawals.length,
    refunds: acknowledged.refunds.length,
    events: events.length,
    'delivered again': received.length - firstSequences.size,
  })
}, 400_000)
