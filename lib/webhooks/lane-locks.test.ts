import { expect } from 'vitest'
import { db } from '#lib/db/client.ts'
import { addEndpoint, createPaidCharge } from '#lib/testing/deliveries.ts'
import { countDeadlocks } from '#lib/testing/due-deliveries.ts'
import { inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { testInTorture } from '#lib/testing/torture.ts'
import { finishDelivery } from '#lib/webhooks/deliver.ts'
import { claimDueDeliveries, type DueDelivery } from '#lib/webhooks/deliveries.ts'

inOwnDatabase()

const HOSTS = ['a.test', 'b.test', 'c.test']
const WRITERS = 4
const CLAIMERS = 3
/** Payments of each writer. */
const ROUNDS = 100

testInTorture('payments, claims, ends of calls and changes of a host never deadlock', async () => {
  const merchants = [await makeMerchant(), await makeMerchant()]
  for (const merchant of merchants)
    for (const host of HOSTS) await addEndpoint(merchant, `https://${host}/`)
  const moved = await addEndpoint(merchants[0] ?? expect.unreachable(), 'https://d.test/')
  let writersLeft = WRITERS
  const untilOver = async (work: (nth: number) => Promise<unknown>) => {
    for (let nth = 0; writersLeft > 0; nth++) await work(nth)
  }
  const write = async (writer: number) => {
    for (let nth = 0; nth < ROUNDS; nth++) {
      const merchant = merchants[(writer + nth) % 2] ?? expect.unreachable()
      await createPaidCharge(merchant, `https://h${nth % 5}.test/`)
    }
  }
  const end = () => {
    writersLeft--
  }
  const claimAndFinish = async (nth: number) => {
    const { claimed } = await claimDueDeliveries(64, 8)
    await Promise.all(claimed.map((due, place) => finish(due, (nth + place) % 5 > 0)))
  }
  const moveAndRetry = (nth: number) => db().$executeRaw`
    UPDATE deliveries SET due_at = now(), host = CASE WHEN endpoint_id = ${moved.id}::uuid
      THEN ${HOSTS[nth % HOSTS.length]} ELSE host END
    WHERE id IN (SELECT id FROM deliveries WHERE due_at > now() AND lease IS NULL
      FOR UPDATE SKIP LOCKED)`
  await Promise.all([
    ...Array.from({ length: WRITERS }, (_, writer) => write(writer).finally(end)),
    ...Array.from({ length: CLAIMERS }, () => untilOver(claimAndFinish)),
    untilOver(moveAndRetry),
  ])
  expect(await countDeadlocks()).toBe(0)
})

function finish(due: DueDelivery, isReceived: boolean): Promise<void> {
  const status = isReceived ? 200 : 500
  const problem = isReceived ? null : ({ code: 'status', params: { status } } as const)
  const response = { status, headers: null, body: null, problem, address: null }
  const sent = { headers: {}, body: due.body ?? '{}' }
  return finishDelivery({ due, sent, outcome: { ...response, durationMs: 1, retryAfterMs: null } })
}
