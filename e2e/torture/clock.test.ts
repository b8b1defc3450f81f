import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pickSize, recordFigures } from '#e2e/torture/figures.ts'
import { db } from '#lib/db/client.ts'
import { type ApiProcess, startApiProcess } from '#lib/testing/api-process.ts'
import {
  CHARGE,
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  makeToken,
} from '#lib/testing/fixtures.ts'
import { Random } from '#lib/testing/random.ts'
import { chooseSeed } from '#lib/testing/seed.ts'
import { startWorkerProcess, type WorkerProcess } from '#lib/testing/worker-process.ts'

const random = new Random(chooseSeed(), 0)

const CHARGE_COUNT = pickSize(10, 100)
const RACE_COUNT = pickSize(60, 500)
/** Period in which each charge of the race expires and is paid, both at random times. */
const RACE_MS = pickSize(2_000, 10_000)
const HOUR_MS = 3_600_000
const EXPIRES_IN_S = 60
const EXPIRY_MAX_MS = 20_000
/** Whether the test also waits until untouched charges expire; only at full size. */
const WAITS_FOR_EXPIRY = pickSize(0, 1) === 1

inOwnDatabase()

function shiftedClockSettings(shiftMs: number): Record<string, string> {
  const preload = new URL('./shifted-clock.ts', import.meta.url).href
  return { CLOCK_SHIFT_MS: String(shiftMs), NODE_OPTIONS: `--import=${preload}` }
}

async function openMerchant({ url }: ApiProcess) {
  const { id: accountId } = await makeMerchant()
  const defaultToken = await makeToken(accountId)
  const send = (path: string, body?: unknown, token = defaultToken) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers }
    return fetch(`${url}/api${path}`, init)
  }
  const create = async (): Promise<string> => {
    const response = await send('/transactions', { ...CHARGE, expires_in: EXPIRES_IN_S })
    return (await response.json()).data.transaction_id
  }
  const createMany = async (count: number) => {
    const ids: string[] = []
    while (ids.length < count) ids.push(...(await Promise.all(Array.from({ length: 10 }, create))))
    return ids
  }
  const pay = async (id: string) =>
    (await send(`/sandbox/transactions/${id}`, { outcome: 'paid' })).status
  return { accountId, send, createMany, pay }
}

/** Sets the expiry of charges to random times within a span, by the database's clock. */
function setExpiryWithin(ids: string[], spanMs: number): Promise<number> {
  return db().$executeRaw`
    UPDATE charges c SET expires_at = n.at, due_at = n.at
    FROM (SELECT id, now() + random() * make_interval(secs => ${spanMs}::float8 / 1000) AS at
      FROM unnest(${ids}::uuid[]) id) n
    WHERE c.id = n.id AND c.status = 'pending'`
}

async function countStates(ids: string[]): Promise<Record<string, number>> {
  const rows = await db().charge.groupBy({
    by: ['status'],
    where: { id: { in: ids } },
    _count: true,
  })
  return Object.fromEntries(rows.map(({ status, _count }) => [status, _count]))
}

/**
 * Reads the event types of each charge, in order, and whether an expiry event precedes the expiry
 * time.
 */
async function readEventHistories(ids: string[]): Promise<{ told: string; early: boolean }[]> {
  return db().$queryRaw`
    SELECT string_agg(e.type, ' ' ORDER BY e.sequence) AS told,
      bool_or(e.type = 'transaction.expired' AND e.created_at < c.expires_at) AS early
    FROM charges c LEFT JOIN events e ON e.account_id = c.account_id AND e.subject_id = c.id
    WHERE c.id = ANY (${ids}::uuid[]) GROUP BY c.id`
}

const SHIFTS: [string, number][] = [
  ['an hour ahead', HOUR_MS],
  ['an hour behind', -HOUR_MS],
]
const SHIFTS_OF_RUN = SHIFTS.slice(0, pickSize(1, 2))

describe.each(SHIFTS_OF_RUN)('with the clocks of API and worker %s', (clockName, shiftMs) => {
  let api: ApiProcess
  let worker: WorkerProcess
  beforeAll(async () => {
    api = await startApiProcess(shiftedClockSettings(shiftMs))
    const settings = { ...shiftedClockSettings(shiftMs), CLOCK_SHIFT_FROM: 'SIGUSR2' }
    worker = await startWorkerProcess(settings)
    process.kill(worker.pid, 'SIGUSR2')
  })
  afterAll(async () => {
    await worker?.kill()
    await api?.close()
  })

  test('charges expire by the clock of the database, and a paid charge never expires', async () => {
    const { accountId, send, createMany, pay } = await openMerchant(api)
    const [untouched, due, paid, raced] = [
      await createMany(CHARGE_COUNT),
      await createMany(CHARGE_COUNT),
      await createMany(CHARGE_COUNT),
      await createMany(RACE_COUNT),
    ]
    const idTimestampMs = Number.parseInt(untouched[0]?.replaceAll('-', '').slice(0, 12) ?? '', 16)
    expect(Math.abs(idTimestampMs - Date.now() - shiftMs), 'the clock is not shifted').toBeLessThan(
      60_000,
    )
    const lives = await db().$queryRaw`
      SELECT DISTINCT extract(epoch FROM expires_at - created_at)::int AS life,
        created_at BETWEEN now() - interval '1 minute' AND now() AS "isNow"
      FROM charges WHERE account_id = ${accountId}::uuid`
    expect(lives).toEqual([{ life: EXPIRES_IN_S, isNow: true }])
    for (const id of paid) expect(await pay(id)).toBe(200)

    await setExpiryWithin([...due, ...paid], 0)
    await setExpiryWithin(raced, RACE_MS)
    const payments = raced.map(async id => {
      await sleep(random.fraction() * RACE_MS)
      return pay(id)
    })
    // 409: the worker queried the bank first and booked the payment.
    for (const status of await Promise.all(payments)) expect([200, 409]).toContain(status)
    await expect
      .poll(() => countStates(due), { timeout: EXPIRY_MAX_MS })
      .toEqual({ expired: CHARGE_COUNT })

    if (WAITS_FOR_EXPIRY) {
      await expect
        .poll(() => countStates(untouched), { timeout: 2 * EXPIRES_IN_S * 1_000, interval: 500 })
        .toEqual({ expired: CHARGE_COUNT })
    } else expect(await countStates(untouched)).toEqual({ pending: CHARGE_COUNT })
    expect(await countStates([...paid, ...raced])).toEqual({ paid: CHARGE_COUNT + RACE_COUNT })
    const histories = await readEventHistories([...untouched, ...due, ...paid, ...raced])
    expect(histories.filter(({ early }) => early)).toEqual([])
    const racedTypes = (await readEventHistories(raced)).map(({ told }) => told)
    const paidAfterExpiry = racedTypes.filter(
      types => types === 'transaction.expired transaction.paid',
    )
    const paidInTime = racedTypes.filter(types => types === 'transaction.paid')
    expect(paidAfterExpiry.length + paidInTime.length, racedTypes.join('; ')).toBe(RACE_COUNT)
    expect((await readEventHistories(paid)).map(({ told }) => told)).toEqual(
      Array.from({ length: CHARGE_COUNT }, () => 'transaction.paid'),
    )
    await expectBalancedLedger(accountId)
    const account = await (await send('/account')).json()
    expect(account.balance).toBe((CHARGE_COUNT + RACE_COUNT) * CHARGE.amount)
    recordFigures(`clocks ${clockName}`, {
      'expired when due': due.length,
      'expired early': 0,
      'paid in a race with their expiry': raced.length,
      'of these after it': paidAfterExpiry.length,
    })
  }, 300_000)

  test('the worker measures its clock and goes on working', async () => {
    const read = async () =>
      Number((await db().processClock.findFirst({ where: { pid: worker.pid } }))?.offsetMs) / 60_000
    await expect.poll(read, { timeout: 30_000 }).toBeCloseTo(shiftMs / 60_000, 0)
  })

  test('a token expires by the clock of the database, cached or not', async () => {
    const { accountId, send } = await openMerchant(api)
    const makeTokenFor = (lifeMs: number) =>
      makeToken(accountId, { expiresAt: new Date(Date.now() + lifeMs) })
    const callWith = async (token: string) => [
      (await send('/account', undefined, token)).status,
      (await send('/transactions', CHARGE, token)).status,
      (await send('/transactions', CHARGE, token)).status,
    ]
    expect(await callWith(await makeTokenFor(HOUR_MS / 2))).toEqual([200, 200, 200])
    expect(await callWith(await makeTokenFor(-1_000))).toEqual([401, 401, 401])
    const cachedToken = await makeTokenFor(HOUR_MS / 2)
    expect(await callWith(cachedToken)).toEqual([200, 200, 200])
    await db().$executeRaw`
      UPDATE tokens SET expires_at = now() WHERE account_id = ${accountId}::uuid`
    expect(await callWith(cachedToken)).toEqual([401, 401, 401])
  })
})
