import { readFileSync } from 'node:fs'
import { beforeAll, expect, test, vi } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { withJournal } from '#lib/banks/record-call.ts'
import { expireBanks } from '#lib/banks/served.ts'
import { newId, OPERATOR_ACCOUNT_ID, removeHyphens } from '#lib/core/ids.ts'
import { type Reading, renderMetrics } from '#lib/core/metrics.ts'
import { db } from '#lib/db/client.ts'
import { readLargestTables } from '#lib/operator/database.ts'
import { OVERDUE_LIMITS_S } from '#lib/operator/health.ts'
import { readDatabaseMetrics } from '#lib/operator/metrics.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { addConnection, restConnection } from '#lib/testing/connection.ts'
import {
  addEndpoint,
  createPaidCharge,
  deliverDue,
  makeRetriesDue,
} from '#lib/testing/deliveries.ts'
import { seedDueDeliveries } from '#lib/testing/due-deliveries.ts'
import { inOwnDatabase, makeMerchant, openCharge, runAsOwner } from '#lib/testing/fixtures.ts'
import { ok, openReceiver, status } from '#lib/testing/receiver.ts'

// What is due, wrong or late in other tests counts, too.
inOwnDatabase()
let merchant: Account
beforeAll(async () => {
  merchant = await makeMerchant()
})

async function readValue(name: Reading['name'], label?: string): Promise<number | undefined> {
  const readings = await readDatabaseMetrics()
  return readings.find(each => each.name === name && each.labels?.[0] === label)?.value
}

test('the largest tables are measured with their indexes, partitions as one table', async () => {
  await db().$executeRaw`SELECT troco_rotate_request_log()`
  const names = (await readLargestTables(500)).map(({ table }) => table)
  expect(names.filter(name => name.startsWith('request_log'))).toEqual(['request_log'])
  const [largest = ''] = names
  expect(await readValue('troco_table_bytes', largest)).toBeGreaterThan(8_192)
})

test('the part that cannot be read is named, and the others are there', async () => {
  await runAsOwner('ALTER TABLE ledger_checks RENAME TO hidden')
  try {
    expect(await readValue('troco_metrics_unread', 'ledger')).toBe(1)
    expect(await readValue('troco_metrics_unread', 'queues')).toBe(0)
    expect(await readValue('troco_ledger_accounts_wrong')).toBeUndefined()
    expect(await readValue('troco_database_up')).toBe(1)
  } finally {
    await runAsOwner('ALTER TABLE hidden RENAME TO ledger_checks')
  }
  expect(await readValue('troco_metrics_unread', 'ledger')).toBe(0)
})

test('the due rows of each queue are counted, with the age of the oldest', async () => {
  const { id } = await openCharge(merchant)
  expect(await readValue('troco_queue_due', 'charges')).toBe(0)
  expect(await readValue('troco_queue_oldest_due_seconds', 'charges')).toBe(0)
  await db().$executeRaw`
    UPDATE charges SET due_at = now() - interval '400 seconds' WHERE id = ${id}::uuid`
  expect(await readValue('troco_queue_due', 'charges')).toBe(1)
  expect(await readValue('troco_queue_oldest_due_seconds', 'charges')).toBeGreaterThanOrEqual(400)
  await seedDueDeliveries({ accountId: merchant.id, count: 7 })
  expect(await readValue('troco_queue_due', 'deliveries')).toBe(7)
  const connectionId = await addConnection(new StubBank())
  await db().bankNotice.create({
    data: {
      connectionId,
      kind: 'charge',
      id: removeHyphens(newId()),
      dueAt: new Date(Date.now() - 30_000),
    },
  })
  expect(await readValue('troco_queue_due', 'notices')).toBe(1)
})

test('workers count while they send heartbeats', async () => {
  expect(await readValue('troco_workers')).toBe(0)
  expect(await readValue('troco_worker_heartbeat_age_seconds')).toBeUndefined()
  const worker = { host: 'here', pid: 1 }
  const beatAt = new Date(Date.now() - 300_000)
  await db().workerHeartbeat.create({ data: { id: newId(), ...worker, beatAt } })
  expect(await readValue('troco_workers')).toBe(0)
  expect(await readValue('troco_worker_heartbeat_age_seconds')).toBeGreaterThanOrEqual(299)
  await db().workerHeartbeat.create({ data: { id: newId(), ...worker } })
  expect(await readValue('troco_workers')).toBe(1)
})

test('wrong books count, those of the operator, too, and so does the longest wait', async () => {
  const age = 'troco_ledger_check_age_seconds'
  expect(await readValue('troco_ledger_accounts_wrong')).toBe(0)
  const checkedAt = new Date(Date.now() - 9_000_000)
  for (const accountId of [merchant.id, OPERATOR_ACCOUNT_ID])
    await db().ledgerCheck.create({ data: { accountId, checkedAt, wrong: 'sums differ' } })
  expect(await readValue('troco_ledger_accounts_wrong')).toBe(2)
  expect(await readValue(age)).toBeGreaterThanOrEqual(9_000)
  await db().ledgerCheck.updateMany({ data: { checkedAt: new Date(), wrong: null } })
  expect(await readValue('troco_ledger_accounts_wrong')).toBe(0)
  expect(await readValue(age)).toBeLessThan(9_000)
})

test('a connection reports its rest, what the bank blocks, its certificate and its calls', async () => {
  const endsAt = new Date('2031-05-01T00:00:00Z')
  const bank = Object.assign(new StubBank(), { certificateEndsAt: endsAt })
  const id = await addConnection(bank)
  const homologation = await addConnection(new StubBank(), {
    environment: 'homologation',
    isAssignable: false,
  })
  expect(await readValue('troco_bank_resting', id)).toBe(0)
  expect(await readValue('troco_bank_blocked_operations', id)).toBe(0)
  expect(await readValue('troco_bank_certificate_end_seconds', id)).toBe(endsAt.getTime() / 1_000)
  const calls = { accountId: merchant.id, id: newId(), mode: 'live' as const, connectionId: id }
  await withJournal(bank, [calls]).getCharges([removeHyphens(calls.id)])
  const text = renderMetrics([])
  expect(text).toContain(
    `troco_bank_calls_total{connection="${id}",operation="getCharges",outcome="ok"} 1`,
  )
  expect(text).toContain(
    `troco_bank_call_seconds_count{connection="${id}",operation="getCharges"} 1`,
  )
  await restConnection(id)
  await db().connectionState.update({
    where: { connectionId: id },
    data: { blocks: { sendPayout: { code: 'x', reason: 'no permission', since: new Date() } } },
  })
  expect(await readValue('troco_bank_resting', id)).toBe(1)
  expect(await readValue('troco_bank_blocked_operations', id)).toBe(1)
  expect(await readValue('troco_bank_resting', homologation)).toBeUndefined()
  await db().connection.update({
    where: { id },
    data: { disabledAt: new Date(), isAssignable: false },
  })
  expireBanks()
  expect(await readValue('troco_bank_resting', id)).toBeUndefined()
})

test('attempts of deliveries count by what became of them', async () => {
  const countOf = (outcome: string) => {
    const series = `troco_delivery_attempts_total{outcome="${outcome}"} `
    const line = renderMetrics([])
      .split('\n')
      .find(each => each.startsWith(series))
    return Number(line?.slice(series.length) ?? 0)
  }
  await runAsOwner('TRUNCATE deliveries, delivery_attempts, events, delivery_queues')
  const [delivered, retried] = [countOf('delivered'), countOf('retried')]
  const receiver = await openReceiver(status(500))
  await addEndpoint(merchant, receiver.url)
  await createPaidCharge(merchant)
  await deliverDue()
  expect([countOf('delivered'), countOf('retried')]).toEqual([delivered, retried + 1])
  receiver.respondWith(ok)
  await makeRetriesDue()
  await deliverDue()
  expect([countOf('delivered'), countOf('retried')]).toEqual([delivered + 1, retried + 1])
  await receiver.close()
})

test('the clock of the database is compared with ours', async () => {
  expect(Math.abs((await readValue('troco_clock_offset_seconds')) ?? 60)).toBeLessThan(10)
  vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 90_000)
  expect(await readValue('troco_clock_offset_seconds')).toBeGreaterThan(60)
  vi.restoreAllMocks()
})

test('a late queue raises its alert when the health page calls it a problem', () => {
  const rules = readFileSync('docs/monitoring/alerts.yml', 'utf8')
  const parts = [...rules.matchAll(/oldest_due_seconds\{queue=~"([a-z|]+)"\}\) > (\d+)/g)]
  const alerts = parts.flatMap(([, queues = '', limit]) =>
    queues.split('|').map(queue => [queue, Number(limit)]),
  )
  const { search: _, ...limits } = OVERDUE_LIMITS_S
  const problems = Object.entries(limits).map(([queue, [, problem]]) => [queue, problem])
  expect(Object.fromEntries(alerts)).toEqual({ notices: 300, ...Object.fromEntries(problems) })
})
