import { fork } from 'node:child_process'
import { once } from 'node:events'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { listServed } from '#lib/banks/served.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import { env, inheritedEnv } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { claimSlots, newQueue, renewSlot } from '#lib/orders/order.ts'
import { StubBank } from '#lib/testing/bank.ts'
import {
  addConnection,
  assignConnection,
  endSlots,
  fundLive,
  replaceBank,
} from '#lib/testing/connection.ts'
import { withClient } from '#lib/testing/due-deliveries.ts'
import {
  expectBalancedLedger,
  fundMerchant,
  inOwnDatabase,
  makeMerchant,
} from '#lib/testing/fixtures.ts'
import { createSender, dropOrders, orderOf } from '#lib/testing/orders.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'

inOwnDatabase()

const AMOUNT = 1_000
const KEY = { pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const

let bank: StubBank
let connectionId: string
let merchant: Account
beforeAll(async () => {
  connectionId = await addConnection(new StubBank())
})
beforeEach(async () => {
  await dropOrders()
  await db().orderQueue.deleteMany()
  bank = Object.assign(new StubBank(), { payoutsInFlight: 1 })
  replaceBank(connectionId, bank)
  merchant = await makeMerchant()
})

/** Creates live withdrawals of an account. Returns their ids as the bank sees them. */
async function withdraw(account: Account, count = 1, key: object = KEY): Promise<string[]> {
  await assignConnection(connectionId, account)
  await fundLive(account, AMOUNT * count)
  const ids: string[] = []
  for (let nth = 0; nth < count; nth++) {
    const order = { amount: AMOUNT, ...KEY, ...key, connectionId }
    ids.push(removeHyphens((await createWithdrawal(account.id, 'live', order)).id))
  }
  return ids
}

/** Adds orders that wait, and are only sent: they have no withdrawals. */
function fill({ id }: Account, count: number) {
  return db().$executeRaw`
    INSERT INTO bank_orders (account_id, id, kind, operation, mode, connection_id, amount, target, state, due_at)
    SELECT ${id}::uuid, gen_random_uuid(), 'withdrawal', 'payout', 'live', ${connectionId}::uuid, 1000, 'a@b.co',
      'waiting', now() FROM generate_series(1, ${count}::int)`
}

const hyphenated = (id: string) => id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
const sentIds = () => bank.sentOrders.map(({ id }) => id)
const statusOf = async (id = '') =>
  (await db().withdrawal.findFirstOrThrow({ where: { id: hyphenated(id) } })).status
const makePlacedDue = () => db().$executeRaw`
  UPDATE bank_orders SET due_at = now()
  WHERE connection_id = ${connectionId}::uuid AND state = 'placed'`

/** Workers that run at the same moment, as in several processes. */
function startWorkers(count: number) {
  const workers = Array.from({ length: count }, () => createSender('withdrawal'))
  return async () => {
    await Promise.all(workers.map(({ run }) => run()))
    await Promise.all(workers.map(({ idle }) => idle()))
  }
}

describe('payouts in flight', () => {
  test('while one account has 1,000 waiting, those of others are sent within three turns', async () => {
    await assignConnection(connectionId, merchant)
    await fill(merchant, 1_000)
    const runAll = startWorkers(3)
    await runAll()
    expect(sentIds()).toHaveLength(1)
    const others = [await makeMerchant(), await makeMerchant()]
    const expected = (await Promise.all(others.map(other => withdraw(other)))).flat()
    for (let turn = 0; turn < 3; turn++) {
      await endSlots(connectionId)
      await runAll()
    }
    expect(sentIds()).toHaveLength(4)
    expect(sentIds()).toEqual(expect.arrayContaining(expected))
  })

  test('of one account are sent in the order in which they were created', async () => {
    const ids = await withdraw(merchant, 4)
    await db().$executeRaw`
      UPDATE bank_orders SET due_at = now() - random() * interval '1 hour'
      WHERE account_id = ${merchant.id}::uuid`
    const runAll = startWorkers(2)
    for (let turn = 0; turn < 4; turn++) {
      await runAll()
      await endSlots(connectionId)
    }
    expect(sentIds()).toEqual(ids)
  })

  test('are never more than the limit, whichever of several workers sends and asks', async () => {
    bank.payoutsInFlight = 2
    const ids = [...(await withdraw(merchant, 6)), ...(await withdraw(await makeMerchant(), 6))]
    const seen = new Set<number>()
    const inFlight = new Set<string>()
    const sendPayout = bank.sendPayout.bind(bank)
    bank.sendPayout = async (order, signal) => {
      inFlight.add(order.id)
      seen.add(inFlight.size)
      return sendPayout(order, signal)
    }
    const runAll = startWorkers(3)
    for (let round = 0; round < 60 && sentIds().length < ids.length; round++) {
      await runAll()
      if (round % 2 === 0) continue
      bank.settle()
      await makePlacedDue()
      inFlight.clear()
    }
    bank.settle()
    await makePlacedDue()
    await runAll()
    expect(seen).toEqual(new Set([1, 2]))
    expect(sentIds().toSorted()).toEqual(ids.toSorted())
    for (const id of ids) expect(await statusOf(id)).toBe('approved')
    await expectBalancedLedger(merchant.id)
  })

  test('are as many as the settings of the connection say, whatever the bank declares', async () => {
    const data = { settings: { payouts_in_flight: 3 } }
    await db().connection.update({ where: { id: connectionId }, data })
    replaceBank(connectionId, bank)
    await withdraw(merchant, 5)
    await startWorkers(2)()
    expect(sentIds()).toHaveLength(3)
    const reset = { settings: {} }
    await db().connection.update({ where: { id: connectionId }, data: reset })
  })

  test('of test mode need no slot', async () => {
    await withdraw(merchant, 2)
    await fundMerchant(merchant, 3 * AMOUNT)
    const key = { ...KEY, pixKey: 'hold@example.com', dictKey: 'hold@example.com' }
    const ids: string[] = []
    for (let count = 0; count < 3; count++)
      ids.push((await createWithdrawal(merchant.id, 'test', { amount: AMOUNT, ...key })).id)
    await startWorkers(1)()
    expect(sentIds()).toHaveLength(1)
    const where = { id: { in: ids.map(removeHyphens) } }
    expect(await db().simulatorOrder.count({ where })).toBe(3)
  })
})

describe('a slot', () => {
  const serve = async () => (await listServed()).find(({ id }) => id === connectionId)
  const claimOne = async () => {
    const queue = newQueue(connectionId, 'payout', ['withdrawal'])
    const claims = await claimSlots(queue, (await serve()) ?? expect.unreachable(), 8)
    return claims[0] ?? expect.unreachable()
  }

  test('ends with its payout: the next is sent at once', async () => {
    const ids = await withdraw(merchant, 2)
    const runAll = startWorkers(2)
    await runAll()
    await runAll()
    expect(sentIds()).toEqual(ids.slice(0, 1))
    bank.settle()
    await makePlacedDue()
    await runAll()
    await runAll()
    expect(sentIds()).toEqual(ids)
  })

  test('ends after 30 s, and its withdrawal is asked about but never rejected by time', async () => {
    const ids = await withdraw(merchant, 2)
    const runAll = startWorkers(2)
    await runAll()
    const [row] = await db().$queryRaw<{ leftS: number }[]>`
      SELECT extract(epoch FROM slot_until - now())::float8 AS "leftS" FROM bank_orders
      WHERE id = ${hyphenated(ids[0] ?? '')}::uuid`
    expect(row?.leftS).toBeGreaterThan(20)
    expect(row?.leftS).toBeLessThanOrEqual(30)
    await endSlots(connectionId)
    await runAll()
    expect(sentIds()).toEqual(ids)
    await db().$executeRaw`
      UPDATE bank_orders SET slot_until = now() - interval '30 days', created_at = created_at - interval '30 days',
        sent_at = now() - interval '30 days' WHERE account_id = ${merchant.id}::uuid`
    for (let count = 0; count < 3; count++) {
      await makePlacedDue()
      await runAll()
    }
    expect(sentIds()).toEqual(ids)
    for (const id of ids) expect(await statusOf(id)).toBe('pending')
    expect(bank.queriedIds.filter(id => id === ids[0]).length).toBeGreaterThanOrEqual(3)
  })

  test.each([
    [0, 1],
    [3, 3],
    [20, 5],
    [30, 5],
    [60, 10],
    [600, 100],
    [3_600, 600],
    [86_400, 600],
  ])('%i s after the payout was sent, the next question is %i s later', async (ageS, pauseS) => {
    const [id = ''] = await withdraw(merchant)
    const runAll = startWorkers(1)
    await runAll()
    await db().$executeRaw`
      UPDATE bank_orders SET slot_until = now() + (30 - ${ageS}::float8) * interval '1 second'
      WHERE id = ${hyphenated(id)}::uuid`
    await makePlacedDue()
    await runAll()
    expect(bank.queriedIds).toEqual([id])
    const [row] = await db().$queryRaw<{ dueInS: number; tookS: number }[]>`
      SELECT extract(epoch FROM due_at - slot_until)::float8 + 30 - ${ageS}::float8 AS "dueInS",
        extract(epoch FROM clock_timestamp() - slot_until)::float8 + 30 - ${ageS}::float8 AS "tookS"
      FROM bank_orders WHERE id = ${hyphenated(id)}::uuid`
    expect(row?.dueInS).toBeGreaterThanOrEqual(pauseS - 0.01)
    // Since the slot was set, the statements took time, by which the payout is older, too.
    expect(row?.dueInS).toBeLessThanOrEqual(pauseS + 2 * (row?.tookS ?? 0) + 0.01)
  })

  test('is free again at once after a call without effect', async () => {
    const ids = await withdraw(merchant, 2)
    bank.setScript(ids[0] ?? '', { sends: ['down'] })
    const runAll = startWorkers(1)
    await runAll()
    await runAll()
    expect(sentIds()).toEqual(ids)
    const first = await orderOf(hyphenated(ids[0] ?? ''))
    expect(first).toMatchObject({ slotUntil: null, sentAt: null, attempts: 1 })
  })

  test('that ended before the call is not used: nothing is sent', async () => {
    await withdraw(merchant, 2)
    const first = await claimOne()
    await endSlots(connectionId)
    const second = await claimOne()
    expect(second.id).not.toBe(first.id)
    expect(await renewSlot(first)).toBe('lost')
    expect(await renewSlot(second)).toBeNull()
  })

  test('is not renewed while a claim may be giving it to another withdrawal', async () => {
    await withdraw(merchant)
    const claim = await claimOne()
    await withClient(async client => {
      await client.query('BEGIN')
      const lock = 'SELECT FROM order_queues WHERE connection_id = $1 FOR UPDATE'
      await client.query(lock, [connectionId])
      const held = renewSlot(claim)
      const waiting = `SELECT FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND datname = current_database()`
      await expect.poll(async () => (await client.query(waiting)).rowCount).toBe(1)
      await withClient(other =>
        other.query(`UPDATE bank_orders SET slot_until = now() WHERE connection_id = $1`, [
          connectionId,
        ]),
      )
      await client.query('COMMIT')
      expect(await held).toBe('lost')
    })
  })

  test('of a payout that the bank does not have is kept for 30 s, and not for longer', async () => {
    const [lost = ''] = await withdraw(merchant)
    bank.setScript(lost, { sends: Array(20).fill('lost before') })
    const runAll = startWorkers(1)
    await runAll()
    const [other] = await withdraw(await makeMerchant())
    const passTime = async (seconds: number) => {
      await db().$executeRaw`
        UPDATE bank_orders SET slot_until = slot_until - ${seconds}::float8 * interval '1 second',
          due_at = now() WHERE connection_id = ${connectionId}::uuid AND due_at IS NOT NULL`
      await runAll()
    }
    for (const seconds of [0, 5, 5]) await passTime(seconds)
    expect(sentIds()).toEqual([lost])
    expect(bank.queriedIds).toEqual([lost, lost, lost])
    await passTime(20)
    expect(sentIds()).toEqual([lost, other])
    expect(await statusOf(lost)).toBe('pending')
    expect((await orderOf(hyphenated(lost))).sentAt).toEqual(expect.any(Date))
  })

  test('of a worker that was killed during the call ends by itself, and its payout is asked about', async () => {
    const ids = await withdraw(merchant, 2)
    const child = fork('lib/testing/order-child.ts', ['withdrawal'], {
      execArgv: ['--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...inheritedEnv(), DATABASE_URL: env().DATABASE_URL },
    })
    const [called] = await once(child, 'message')
    expect(called).toMatchObject({ method: 'sendPayout', order: { id: ids[0] } })
    child.kill('SIGKILL')
    await once(child, 'exit')
    const runAll = startWorkers(2)
    await runAll()
    expect(sentIds()).toEqual([])
    await endSlots(connectionId)
    await runAll()
    expect(sentIds()).toEqual(ids.slice(1))
    // The bank does not have the first one, which waits for a slot again.
    for (let count = 0; count < 3; count++) {
      await endSlots(connectionId)
      await db().$executeRaw`
        UPDATE bank_orders SET due_at = now() WHERE id = ${hyphenated(ids[0] ?? '')}::uuid`
      await runAll()
    }
    expect(bank.queriedIds).toContain(ids[0])
    expect(sentIds()).toEqual([ids[1], ids[0]])
  })
})

describe('the pace', () => {
  beforeEach(() => {
    bank.payoutsInFlight = 100
  })

  test('rests for all payouts after a limit of the rate, as long as the bank says', async () => {
    const ids = await withdraw(merchant, 20)
    for (const id of ids) bank.setScript(id, { sends: ['busy'] })
    const runAll = startWorkers(2)
    await runAll()
    const tried = sentIds().length
    expect(tried).toBeLessThanOrEqual(16)
    await runAll()
    expect(sentIds()).toHaveLength(tried)
    const [row] = await db().$queryRaw<{ pauseS: number }[]>`
      SELECT extract(epoch FROM paused_until - now())::float8 AS "pauseS" FROM order_queues
      WHERE connection_id = ${connectionId}::uuid`
    expect(row?.pauseS).toBeGreaterThan(45)
    expect(row?.pauseS).toBeLessThanOrEqual(90)
  })
})
