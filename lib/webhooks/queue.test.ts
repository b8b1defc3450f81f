import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { ownerUrlOf } from '#lib/testing/database.ts'
import {
  addEndpoint,
  createPaidCharge,
  deliverDue,
  makeDeliverer,
  readAsWorker,
} from '#lib/testing/deliveries.ts'
import { countDeadlocks, seedDueDeliveries, withClient } from '#lib/testing/due-deliveries.ts'
import { inOwnDatabase, makeMerchant, runAsOwner } from '#lib/testing/fixtures.ts'
import { Random } from '#lib/testing/random.ts'
import { openReceiver, type Receiver, status } from '#lib/testing/receiver.ts'
import { chooseSeed } from '#lib/testing/seed.ts'
import { pickSize } from '#lib/testing/size.ts'
import { testInTorture } from '#lib/testing/torture.ts'
import { createDeliverer, type Deliverer } from '#lib/webhooks/deliver.ts'
import { disableEndpoint } from '#lib/webhooks/endpoints.ts'
import { claimQueues, healQueues, Queue, readQueues, releaseQueues } from '#lib/webhooks/queue.ts'

inOwnDatabase()

const random = new Random(chooseSeed(), 1)
const upTo = (most: number) => 1 + Math.floor(random.fraction() * most)

let merchant: Account
let other: Account
let receiver: Receiver
const deliverers: Deliverer[] = []
beforeEach(async () => {
  await runAsOwner('TRUNCATE deliveries, delivery_attempts, events, delivery_queues')
  merchant = await makeMerchant()
  other = await makeMerchant()
  receiver = await openReceiver()
})
afterEach(async () => {
  for (const deliverer of deliverers.splice(0)) {
    deliverer.abort()
    await deliverer.idle()
  }
  await receiver.close()
})

/** A worker's deliverer whose events are their rows. */
function openDeliverer(): Deliverer {
  const serialize = (resource: unknown) => resource as object
  const deliverer = createDeliverer({
    transaction: serialize,
    withdrawal: serialize,
    apiPix: () => ({}),
  })
  deliverers.push(deliverer)
  return deliverer
}

const pathsReceived = () => receiver.calls.map(({ path }) => path)
const isReceived = (path: string) => expect.poll(() => pathsReceived().includes(path)).toBe(true)
const queues = () => db().deliveryQueue.findMany()
const countPending = () => db().delivery.count({ where: { status: 'pending' } })
/** Ends all leases now, as if their worker had been killed that long ago. */
const endLeases = () =>
  db().$executeRaw`UPDATE delivery_queues SET due_at = now() WHERE lease IS NOT NULL`

/** Accounts of which no worker would look for a due delivery. */
async function countLost(): Promise<number> {
  const [row] = await db().$queryRaw<{ lost: number }[]>`
    SELECT count(*)::int AS lost FROM deliveries d
    LEFT JOIN delivery_queues q ON q.account_id = d.account_id
    WHERE d.due_at <= now() AND (q.account_id IS NULL OR q.lease IS NULL AND q.due_at > now())`
  return row?.lost ?? -1
}

const makeRetriesDueBesideOthers = () =>
  db().$executeRaw`
    UPDATE deliveries SET due_at = now() WHERE id IN (
      SELECT id FROM deliveries WHERE due_at > now() FOR UPDATE SKIP LOCKED)`

describe('several workers', () => {
  test.each([1, 2, 3].slice(0, pickSize(1, 3)))(
    'together never exceed a limit nor break the order of a resource (run %s)',
    async () => {
      const accounts = [merchant, other, await makeMerchant()]
      const running = new Map<string, number>()
      const highest = new Map<string, number>()
      const sequences = new Map<string, number[]>()
      const count = (key: string, difference: number) => {
        const now = (running.get(key) ?? 0) + difference
        running.set(key, now)
        const [kind = ''] = key.split(' ')
        highest.set(kind, Math.max(highest.get(kind) ?? 0, now))
      }
      receiver.respondWith(async ({ path, text }, response) => {
        const [, account, host] = path.split('/')
        const { subject, sequence } = JSON.parse(text)
        const keys = [`account ${account}`, `host ${account} ${host}`, `url ${path}`]
        for (const key of [...keys, `subject ${subject}`]) count(key, 1)
        await sleep(random.fraction() * 15)
        for (const key of [...keys, `subject ${subject}`]) count(key, -1)
        const isRefused = random.fraction() < 0.05
        if (!isRefused) sequences.set(subject, [...(sequences.get(subject) ?? []), sequence])
        response.writeHead(isRefused ? 500 : 200).end()
      })
      for (const { id } of accounts) {
        const host = `'h' || (n * ${upTo(97)} % ${upTo(12)})`
        const url = `'${receiver.url}/${id}/' || ${host} || '/' || (n * ${upTo(97)} % ${upTo(9)})`
        const subject = `(n * ${upTo(97)} % ${upTo(2) * 100})`
        await seedDueDeliveries({ accountId: id, count: 150 + upTo(200), host, url, subject })
      }
      await runAsOwner(`UPDATE events SET resource = jsonb_build_object('subject', subject_id)`)
      const workers = [1, 2, 3, 4].map(openDeliverer)
      while ((await countPending()) > 0) {
        await Promise.all(workers.map(worker => worker.run()))
        await workers[upTo(4) - 1]?.idle()
        await makeRetriesDueBesideOthers()
      }
      for (const [kind, most] of Object.entries({ account: 64, host: 16, url: 4, subject: 1 }))
        expect(highest.get(kind), kind).toBeLessThanOrEqual(most)
      for (const [subject, received] of sequences) {
        // The same event may arrive twice, but none after a later one.
        expect(received, subject).toEqual(received.toSorted((a, b) => a - b))
      }
      expect(await db().delivery.count({ where: { status: 'delivered' } })).toBe(
        await db().delivery.count(),
      )
      expect(await countLost()).toBe(0)
    },
  )

  test('reach all limits: 64 calls of an account, 16 of a host, 4 of a URL', async () => {
    receiver.respondWith(() => {})
    const { id: third } = await makeMerchant()
    const seed = (accountId: string, count: number, host: string, path: string) => {
      const url = `'${receiver.url}/${accountId}/' || ${path}`
      return seedDueDeliveries({ accountId, count, host, url })
    }
    await seed(merchant.id, 900, `'h' || (n % 5)`, `n % 30`)
    await seed(other.id, 100, `'h'`, `'one'`)
    await seed(third, 300, `'one'`, `n % 30`)
    const workers = [1, 2, 3, 4].map(openDeliverer)
    for (let round = 0; round < 3; round++) await Promise.all(workers.map(worker => worker.run()))
    const calls = (id: string) => pathsReceived().filter(path => path.startsWith(`/${id}/`)).length
    await expect.poll(() => [merchant.id, other.id, third].map(calls)).toEqual([64, 4, 16])
  })
})

describe('a URL of which all calls hang', () => {
  const HANGS = '/hangs'
  beforeEach(() => {
    receiver.respondWith(({ path }, response) => {
      if (!path.startsWith(HANGS)) response.writeHead(200).end()
    })
  })
  const seed = (count: number, host: string, path: string) => {
    const url = `'${receiver.url}' || ${path}`
    return seedDueDeliveries({ accountId: merchant.id, count, host: `'${host}'`, url })
  }

  test.each([
    ['on its host', 'h'],
    ['on another host', 'a'],
  ])('hides no other URL %s, however many of its deliveries are due', async (_where, host) => {
    await seed(1_000, 'h', `'${HANGS}'`)
    await seed(1, host, `'/other'`)
    const worker = openDeliverer()
    await worker.run()
    await isReceived('/other')
    await sleep(1_100)
    await seed(1, host, `'/later'`)
    await worker.run()
    await isReceived('/later')
    expect(pathsReceived().filter(path => path === HANGS)).toHaveLength(4)
  })

  test('hides no other URL behind 500 whose deliveries are due later', async () => {
    await seed(500, 'm', `'/later/' || n`)
    await runAsOwner(`UPDATE deliveries SET due_at = now() + interval '1 hour'`)
    await seed(100, 'h', `'${HANGS}'`)
    const worker = openDeliverer()
    await worker.run()
    await sleep(1_100)
    await seed(1, 'z', `'/other'`)
    await worker.run()
    await isReceived('/other')
  })

  test('hides no other host if its host has a URL per delivery', async () => {
    await seed(1_000, 'h', `'${HANGS}/' || n`)
    await seed(1, 'z', `'/other'`)
    const worker = openDeliverer()
    await worker.run()
    await isReceived('/other')
    await sleep(1_100)
    await seed(1, 'z', `'/later'`)
    await worker.run()
    await isReceived('/later')
    expect(pathsReceived().filter(path => path.startsWith(HANGS))).toHaveLength(16)
  })

  test('delays no other account', async () => {
    await seed(1_000, 'h', `'${HANGS}/' || n`)
    const worker = openDeliverer()
    await worker.run()
    await seedDueDeliveries({ accountId: other.id, count: 1, url: `'${receiver.url}/other'` })
    await worker.run()
    await isReceived('/other')
  })
})

test('100 events that wait for an earlier one of their charge hide no other', async () => {
  receiver.respondWith(({ path }, response) => {
    response.writeHead(path === '/fails' ? 500 : 200).end()
  })
  const seed = (count: number, path: string) =>
    seedDueDeliveries({
      accountId: merchant.id,
      count,
      url: `'${receiver.url}${path}'`,
      subject: '0',
    })
  await seed(101, '/fails')
  await seed(1, '/other')
  await deliverDue(openDeliverer())
  expect(pathsReceived().toSorted()).toEqual(['/fails', '/other'])
})

test('of 600 due accounts each gets its turn, also if the first have nothing to send', async () => {
  await runAsOwner(
    `INSERT INTO delivery_queues (account_id, due_at)
     SELECT gen_random_uuid(), now() - interval '1 hour' FROM generate_series(1, 600)`,
  )
  await seedDueDeliveries({ accountId: merchant.id, count: 1, url: `'${receiver.url}/one'` })
  const worker = openDeliverer()
  for (let runs = 0; pathsReceived().length === 0; runs++) {
    expect(runs).toBeLessThan(10)
    await worker.run()
    await worker.idle()
  }
})

describe('a delivery that is made while workers give up its queue', () => {
  test('is always sent, without the sweep', async () => {
    let writersLeft = 6
    const writers = [merchant, other].flatMap(({ id }) => [1, 2, 3].map(part => write(id, part)))
    await Promise.all([...writers, ...[1, 2, 3].map(openDeliverer).map(work)])
    expect(await countLost()).toBe(0)
    expect(new Set(pathsReceived()).size).toBe(6 * 40)

    async function write(accountId: string, part: number): Promise<void> {
      await withClient(async client => {
        for (let count = 1; count <= 40; count++) {
          await client.query('BEGIN')
          await insert(client, accountId, part * 1_000 + count)
          await sleep(random.fraction() * 8)
          await client.query('COMMIT')
          await sleep(random.fraction() * 4)
        }
      }, ownerUrlOf())
      writersLeft--
    }

    async function work(worker: Deliverer): Promise<void> {
      while (writersLeft > 0 || (await countPending()) > 0) {
        await worker.run()
        expect(await countLost()).toBe(0)
      }
    }
  })

  async function insert(client: Client, accountId: string, sequence: number): Promise<void> {
    await client.query(
      `WITH recorded AS (
         INSERT INTO events (account_id, id, mode, sequence, type, subject_id, resource, created_at)
         VALUES ($1, gen_random_uuid(), 'test', $2, 'transaction.paid', gen_random_uuid(), '{}', now())
         RETURNING *)
       INSERT INTO deliveries (account_id, id, mode, event_id, subject_id, sequence, url, host, status, due_at)
       SELECT account_id, id, mode, id, subject_id, sequence, $3 || account_id || '/' || sequence, 'h', 'pending', now()
       FROM recorded`,
      [accountId, sequence, `${receiver.url}/`],
    )
  }

  test('is seen by the worker that releases, before or after its commit', async () => {
    await seedDueDeliveries({ accountId: merchant.id, count: 1 })
    const lease = newId()
    expect(await claimQueues(lease, 10)).toEqual([merchant.id])
    await db().$executeRaw`UPDATE deliveries SET status = 'stopped', due_at = NULL`
    await withClient(async client => {
      await client.query('BEGIN')
      await insert(client, merchant.id, 1_000)
      // Not committed: the queue stays held.
      expect(await releaseQueues(lease, [merchant.id])).toEqual({ released: [], isDue: false })
      await client.query('COMMIT')
    }, ownerUrlOf())
    // Committed: the worker is to read once more.
    expect(await releaseQueues(lease, [merchant.id])).toEqual({ released: [], isDue: false })
    expect(await claimQueues(lease, 10, [merchant.id])).toEqual([merchant.id])
    expect(await releaseQueues(lease, [merchant.id])).toEqual({
      released: [merchant.id],
      isDue: true,
    })
    expect(await claimQueues(newId(), 10)).toEqual([merchant.id])
  })

  test('is seen if it was made before the claim and committed after the reading', async () => {
    await seedDueDeliveries({ accountId: merchant.id, count: 1 })
    const lease = newId()
    await withClient(async client => {
      await client.query('BEGIN')
      await insert(client, merchant.id, 1_000)
      expect(await claimQueues(lease, 10)).toEqual([merchant.id])
      await db()
        .$executeRaw`UPDATE deliveries SET status = 'stopped', due_at = NULL WHERE sequence < 1000`
      expect(await releaseQueues(lease, [merchant.id])).toEqual({ released: [], isDue: false })
      await client.query('COMMIT')
    }, ownerUrlOf())
    const released = { released: [merchant.id], isDue: true }
    expect(await releaseQueues(lease, [merchant.id])).toEqual(released)
  })

  test('does not wait for a claim, nor the claim for it', async () => {
    await seedDueDeliveries({ accountId: merchant.id, count: 20 })
    await withClient(async client => {
      await client.query(`BEGIN; SET LOCAL lock_timeout = '1s'`)
      await insert(client, merchant.id, 1_000)
      const lease = newId()
      expect(await claimQueues(lease, 10)).toEqual([merchant.id])
      await insert(client, merchant.id, 1_001)
      await client.query('COMMIT')
    }, ownerUrlOf())
  })
})

describe('a killed worker', () => {
  test('keeps its queues from others until its lease ends', async () => {
    await seedDueDeliveries({ accountId: merchant.id, count: 200 })
    expect(await readAsWorker(merchant)).not.toEqual([])
    expect(await readAsWorker(merchant)).toEqual([])
    await endLeases()
    expect(await readAsWorker(merchant)).not.toEqual([])
  })

  test('that only hung notices that its queue is another’s, and sends no more of it', async () => {
    await seedDueDeliveries({
      accountId: merchant.id,
      count: 40,
      url: `'${receiver.url}/' || n % 2`,
    })
    receiver.respondWith((_received, response) => {
      setTimeout(() => response.writeHead(200).end(), 1_200)
    })
    const hung = openDeliverer()
    expect(await hung.run()).toBe(8)
    await endLeases()
    const lease = newId()
    expect(await claimQueues(lease, 10)).toEqual([merchant.id])
    await expect.poll(() => receiver.calls.length).toBe(8)
    await sleep(1_500)
    expect(await hung.run()).toBe(0)
    expect(receiver.calls).toHaveLength(8)
  })
})

test('a worker finds the queue that it holds without knowing, as when the answer to its claim was lost', async () => {
  receiver.respondWith(() => {})
  await seedDueDeliveries({ accountId: merchant.id, count: 1, url: `'${receiver.url}/hangs'` })
  const worker = openDeliverer()
  await worker.run()
  await seedDueDeliveries({ accountId: other.id, count: 1, url: `'${receiver.url}/other'` })
  await db().$executeRaw`
    UPDATE delivery_queues q SET due_at = held.due_at, lease = held.lease
    FROM delivery_queues held WHERE q.lease IS NULL AND held.lease IS NOT NULL`
  await worker.run()
  await isReceived('/other')
})

test('a delivery that is locked keeps no result of another account from being stored', async () => {
  await seedDueDeliveries({ accountId: merchant.id, count: 1, url: `'${receiver.url}/locked'` })
  await seedDueDeliveries({ accountId: other.id, count: 20, url: `'${receiver.url}/' || n` })
  const countDelivered = () => db().delivery.count({ where: { status: 'delivered' } })
  const worker = openDeliverer()
  await withClient(async client => {
    await client.query('BEGIN')
    await client.query('SELECT FROM deliveries WHERE account_id = $1 FOR UPDATE', [merchant.id])
    await worker.run()
    await expect.poll(countDelivered).toBe(20)
    await client.query('COMMIT')
  }, ownerUrlOf())
  const callsOfOther = pathsReceived().filter(path => path !== '/locked')
  expect(callsOfOther).toHaveLength(20)
})

test('a delivery that was read a second ago is not sent before it is read anew', async () => {
  await seedDueDeliveries({ accountId: merchant.id, count: 2 })
  const lease = newId()
  await claimQueues(lease, 10)
  const queue = new Queue(merchant.id)
  await readQueues(lease, [queue])
  expect(queue.take()).toBeDefined()
  await db().$executeRaw`UPDATE deliveries SET status = 'stopped', due_at = NULL`
  await sleep(1_050)
  expect(queue.take()).toBeUndefined()
  expect(queue.needsRead).toBe(true)
  await readQueues(lease, [queue])
  expect(queue.take()).toBeUndefined()
})

describe('a queue', () => {
  test('is removed when its deliveries have ended', async () => {
    await seedDueDeliveries({ accountId: merchant.id, count: 30, url: `'${receiver.url}/'` })
    const worker = openDeliverer()
    await worker.run()
    await expect
      .poll(async () => {
        await worker.run()
        return queues()
      })
      .toEqual([])
    expect(receiver.calls).toHaveLength(30)
  })

  test('is due again with the retry of a delivery', async () => {
    receiver.respondWith(status(500))
    await seedDueDeliveries({ accountId: merchant.id, count: 1, url: `'${receiver.url}/'` })
    const worker = openDeliverer()
    await worker.run()
    await expect
      .poll(async () => {
        await worker.run()
        const [queue] = await queues()
        return queue?.lease === null && queue.dueAt.getTime() - Date.now()
      })
      .toBeGreaterThan(2_000)
    const [delivery] = await db().delivery.findMany()
    expect((await queues())[0]?.dueAt).toEqual(delivery?.dueAt)
  })

  test('is removed while an endpoint is disabled, and returns when it is enabled', async () => {
    const { id } = await addEndpoint(merchant, receiver.url)
    await createPaidCharge(merchant)
    await disableEndpoint(merchant.id, id, 'gone')
    await makeDeliverer().run()
    expect(await queues()).toEqual([])
    await db().$executeRaw`UPDATE deliveries SET due_at = now() WHERE endpoint_id = ${id}::uuid`
    await deliverDue()
    expect(receiver.calls).toHaveLength(1)
  })
})

describe('the sweep', () => {
  test.each([
    ['missing queues', 'DELETE FROM delivery_queues'],
    ['late queues', `UPDATE delivery_queues SET due_at = now() + interval '1 day'`],
  ])('restores %s', async (_what, sql) => {
    for (const { id } of [merchant, other])
      await seedDueDeliveries({ accountId: id, count: 2, url: `'${receiver.url}/'` })
    expect(await healQueues()).toBe(0)
    await db().$executeRawUnsafe(sql)
    await deliverDue(openDeliverer())
    expect(receiver.calls).toEqual([])
    expect(await healQueues()).toBe(2)
    expect(await healQueues()).toBe(0)
    await deliverDue(openDeliverer())
    expect(receiver.calls).toHaveLength(4)
  })
})

testInTorture('payments, workers and changes of due times never deadlock', async () => {
  const merchants = [merchant, other]
  for (const one of merchants)
    for (const path of ['a', 'b', 'c']) await addEndpoint(one, `${receiver.url}/${path}`)
  receiver.respondWith((_received, response) => {
    response.writeHead(random.fraction() < 0.2 ? 500 : 200).end()
  })
  const workers = [1, 2, 3].map(() => makeDeliverer())
  let writersLeft = 4
  const untilOver = async (work: () => Promise<unknown>) => {
    while (writersLeft > 0) await work()
  }
  const write = async (writer: number) => {
    for (let nth = 0; nth < 100; nth++)
      await createPaidCharge(
        merchants[(writer + nth) % 2] ?? merchant,
        `${receiver.url}/${nth % 5}`,
      )
    writersLeft--
  }
  await Promise.all([
    ...[0, 1, 2, 3].map(write),
    ...workers.map(worker => untilOver(() => worker.run())),
    untilOver(makeRetriesDueBesideOthers),
  ])
  await Promise.all(workers.map(worker => worker.idle()))
  expect(await countDeadlocks()).toBe(0)
})
