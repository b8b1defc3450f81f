import { beforeEach, describe, expect, test, vi } from 'vitest'
import { Breaker } from '#lib/banks/breaker.ts'
import type { GatewayResult } from '#lib/banks/gateway.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { REFUSAL } from '#lib/testing/bank.ts'
import { recordStatements } from '#lib/testing/statements.ts'

const OK = { outcome: 'ok', value: null } as const
const LOST = { outcome: 'unknown', reason: 'no response in time' } as const
const DOWN = { outcome: 'retryable', reason: 'ECONNREFUSED' } as const
const BUSY = { outcome: 'retryable', reason: '429', isRateLimit: true } as const
const BLOCKED = { outcome: 'blocked', code: 'scope', reason: 'insufficient_scope' } as const

let connectionId: string
/** Two processes, each of which reads the row at every call. */
let first: Breaker
let second: Breaker
beforeEach(() => {
  connectionId = newId()
  first = new Breaker(0)
  second = new Breaker(0)
})

async function call(
  breaker: Breaker,
  result: GatewayResult<unknown> | null,
  operation = 'getPayout',
): Promise<boolean> {
  const admission = await breaker.admit(connectionId)
  if (admission.isAdmitted)
    await breaker.record({ connectionId, operation, probe: admission.probe }, result)
  return admission.isAdmitted
}

const read = () => db().connectionState.findUniqueOrThrow({ where: { connectionId } })
const endRest = () => db().$executeRaw`
  UPDATE connection_states SET retry_at = now() WHERE connection_id = ${connectionId}::uuid`
const readRestS = async () => {
  const [row] = await db().$queryRaw<{ seconds: number }[]>`
    SELECT extract(epoch FROM retry_at - now())::float8 AS seconds FROM connection_states
    WHERE connection_id = ${connectionId}::uuid`
  return row?.seconds
}

async function open(): Promise<void> {
  for (let count = 0; count < 5; count++) await call(count % 2 ? first : second, LOST)
}

describe('a connection', () => {
  test('rests at once in a process whose calls fail at the same time', async () => {
    const calls = { operation: 'sendPayout', probe: null, failuresMax: 8 }
    for (let count = 0; count < 200; count++) {
      const id = newId()
      const breaker = new Breaker(60_000)
      await breaker.admit(id)
      const record = () => breaker.record({ ...calls, connectionId: id }, LOST)
      await Promise.all(Array.from({ length: 8 }, record))
      expect(await breaker.restMs(id)).toBeGreaterThan(0)
    }
  })

  test('rests although the response about an older state comes later', async () => {
    const breaker = new Breaker(60_000)
    await breaker.admit(connectionId)
    const failing = { connectionId, operation: 'sendPayout', probe: null, failuresMax: 2 }
    const query = db().$queryRaw.bind(db())
    const held = Promise.withResolvers<void>()
    const first = Promise.withResolvers<unknown>()
    vi.spyOn(db(), '$queryRaw').mockImplementationOnce(((...parts: Parameters<typeof query>) => {
      const rows = query(...parts)
      first.resolve(rows)
      return held.promise.then(() => rows)
    }) as never)
    const older = breaker.record(failing, LOST)
    await first.promise
    await breaker.record(failing, LOST)
    held.resolve()
    await older
    expect(await breaker.restMs(connectionId)).toBeGreaterThan(0)
    vi.restoreAllMocks()
  })

  test('rests in all processes after five failed calls in a row, of any of them', async () => {
    for (const [breaker, result] of [
      [first, LOST],
      [second, DOWN],
      [first, LOST],
      [first, DOWN],
    ] as const)
      expect(await call(breaker, result)).toBe(true)
    expect(await call(second, LOST)).toBe(true)
    for (const breaker of [first, second]) {
      const admission = await breaker.admit(connectionId)
      if (admission.isAdmitted) expect.unreachable()
      expect(admission.retryAfterMs).toBeGreaterThan(0)
      expect(admission.retryAfterMs).toBeLessThanOrEqual(5_000)
      expect(await breaker.restMs(connectionId)).toBeGreaterThan(0)
    }
  })

  test.each<[string, GatewayResult<unknown>]>([
    ['a success', OK],
    ['a rejection', { outcome: 'rejected', ...REFUSAL }],
    ['a limit of the rate', BUSY],
    ['a block', BLOCKED],
  ])('does not rest after failed calls with %s between them', async (_, answer) => {
    for (let round = 0; round < 3; round++) {
      for (let count = 0; count < 4; count++) expect(await call(first, LOST)).toBe(true)
      expect(await call(second, answer)).toBe(true)
    }
    expect((await read()).openedAt).toBeNull()
  })

  test('that rests has no effect on others', async () => {
    await open()
    const other = newId()
    expect(await first.admit(other)).toEqual({ isAdmitted: true, probe: null })
    expect(await first.restMs(other)).toBe(0)
  })

  test('is not judged by calls that were not made', async () => {
    for (let count = 0; count < 10; count++) expect(await call(first, null)).toBe(true)
    expect(await read()).toMatchObject({ failures: 0, openedAt: null })
  })

  test('may have another number of failures, or none', async () => {
    const failing = { connectionId, operation: 'getPayout', probe: null }
    for (let count = 0; count < 20; count++) {
      await first.admit(connectionId)
      await first.record({ ...failing, failuresMax: Number.POSITIVE_INFINITY }, LOST)
    }
    expect((await read()).openedAt).toBeNull()
    await first.record({ ...failing, failuresMax: 1 }, LOST)
    expect((await read()).openedAt).not.toBeNull()
  })
})

describe('a probe', () => {
  test('is the only call of all processes until it ends', async () => {
    await open()
    await endRest()
    const admissions = await Promise.all(
      Array.from({ length: 20 }, (_, nth) => (nth % 2 ? first : second).admit(connectionId)),
    )
    expect(admissions.filter(({ isAdmitted }) => isAdmitted)).toEqual([
      { isAdmitted: true, probe: expect.any(String) },
    ])
    const refused = admissions.filter(admission => !admission.isAdmitted)
    for (const { retryAfterMs } of refused) expect(retryAfterMs).toBe(2_000)
  })

  test('that succeeds ends the rest in all processes', async () => {
    await open()
    await endRest()
    expect(await call(first, OK)).toBe(true)
    for (const breaker of [first, second]) expect(await call(breaker, OK)).toBe(true)
    expect(await read()).toMatchObject({ failures: 0, rests: 0, openedAt: null, retryAt: null })
  })

  test('that fails doubles the rest, up to a minute', async () => {
    await open()
    for (const seconds of [5, 10, 20, 40, 60, 60]) {
      const restS = (await readRestS()) ?? 0
      expect(restS).toBeGreaterThan(seconds / 2)
      expect(restS).toBeLessThanOrEqual(seconds)
      expect(await call(second, OK)).toBe(false)
      await endRest()
      expect(await call(first, LOST)).toBe(true)
    }
    await db().connectionState.update({ where: { connectionId }, data: { rests: 5_000 } })
    await endRest()
    expect(await call(first, LOST)).toBe(true)
    expect(await readRestS()).toBeLessThanOrEqual(60)
  })

  test('is not made in a rest that a process has not read of', async () => {
    await open()
    await endRest()
    const late = new Breaker(Number.POSITIVE_INFINITY)
    expect(await late.restMs(connectionId)).toBe(0)
    expect(await call(first, LOST)).toBe(true)
    expect(await late.admit(connectionId)).toMatchObject({ isAdmitted: false })
  })

  test('that was not made leaves its turn to the next call', async () => {
    await open()
    await endRest()
    expect(await call(first, null)).toBe(true)
    expect(await second.admit(connectionId)).toEqual({
      isAdmitted: true,
      probe: expect.any(String),
    })
  })

  test('of a process that died is made by another later', async () => {
    await open()
    await endRest()
    expect(await first.admit(connectionId)).toMatchObject({ probe: expect.any(String) })
    expect(await second.admit(connectionId)).toMatchObject({ isAdmitted: false })
    const past = new Date(Date.now() - 1_000)
    await db().connectionState.update({ where: { connectionId }, data: { probeUntil: past } })
    expect(await second.admit(connectionId)).toEqual({
      isAdmitted: true,
      probe: expect.any(String),
    })
  })
})

test('a probe that was given up neither ends the rest nor the probe of another process', async () => {
  await open()
  await endRest()
  const late = await first.admit(connectionId)
  const past = new Date(Date.now() - 1_000)
  await db().connectionState.update({ where: { connectionId }, data: { probeUntil: past } })
  expect(await second.admit(connectionId)).toMatchObject({ probe: expect.any(String) })
  if (!late.isAdmitted) expect.unreachable()
  const { openedAt, retryAt, probeUntil } = await read()
  for (const result of [OK, LOST, null]) {
    await first.record({ connectionId, operation: 'getPayout', probe: late.probe }, result)
    expect(await read()).toMatchObject({ openedAt, retryAt, probeUntil })
  }
})

test('calls that began before a rest neither end nor prolong it', async () => {
  const late = { connectionId, operation: 'getPayout', probe: null }
  await first.admit(connectionId)
  await open()
  const before = await read()
  await first.record(late, OK)
  await first.record(late, LOST)
  expect(await read()).toMatchObject({ openedAt: before.openedAt, retryAt: before.retryAt })
})

test('while a connection works, its calls cost one read per second', async () => {
  const breaker = new Breaker()
  await breaker.admit(connectionId)
  const calls = async () => {
    for (let count = 0; count < 50; count++) await call(breaker, OK)
  }
  const began = performance.now()
  const statements = await recordStatements(calls)
  expect(statements.length).toBeLessThanOrEqual((performance.now() - began) / 1_000 + 1)
})

test('what a bank blocks is stored per operation until a call of it succeeds', async () => {
  await call(first, BLOCKED, 'sendPayout')
  const { blocks } = await read()
  expect(blocks).toEqual({
    sendPayout: { code: 'scope', reason: 'insufficient_scope', since: expect.any(String) },
  })
  await call(second, OK, 'createCharge')
  await call(second, { outcome: 'rejected', ...REFUSAL }, 'sendPayout')
  await call(second, { ...BLOCKED, reason: 'in other words' }, 'sendPayout')
  expect((await read()).blocks).toEqual(blocks)
  await call(second, { ...BLOCKED, code: 'balance', reason: '\0empty\ud800' }, 'sendPayout')
  const { since } = (blocks as Record<string, { since: string }>).sendPayout ?? {}
  expect((await read()).blocks).toEqual({
    sendPayout: { code: 'balance', reason: 'empty\ufffd', since },
  })
  await call(first, OK, 'sendPayout')
  expect((await read()).blocks).toEqual({})
})
