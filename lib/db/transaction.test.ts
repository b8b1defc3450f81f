import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseDatabaseError } from '#lib/core/errors.ts'
import {
  connect,
  type Database,
  Prisma,
  retryOnConflict,
  type Tx,
  transaction,
} from '#lib/db/client.ts'
import { makeDatabase } from '#lib/testing/fixtures.ts'

let database: Database
beforeAll(async () => {
  database = connect({ url: await makeDatabase({ migrated: false }) })
  await database.$executeRaw`CREATE TABLE guards (name text PRIMARY KEY, on_duty int NOT NULL)`
  await database.$executeRaw`INSERT INTO guards VALUES ('ana', 1), ('rui', 1), ('eva', 0), ('leo', 0)`
})
afterAll(() => database.$disconnect())

/** Returns a function whose promises resolve once it has been called `size` times. */
function createBarrier(size: number): () => Promise<void> {
  const all = Promise.withResolvers<void>()
  let arrived = 0
  return () => {
    arrived++
    if (arrived >= size) all.resolve()
    return all.promise
  }
}

function raiseError(code: string): Promise<unknown> {
  const raised = Prisma.raw(`DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '${code}'; END $$`)
  return database.$executeRaw(raised)
}

test("of two transactions in write skew, one is retried and sees the other's write", async () => {
  const bothRead = createBarrier(2)
  let runs = 0
  const leave = (name: string) =>
    transaction(async tx => {
      runs++
      await tx.$executeRaw`SET TRANSACTION ISOLATION LEVEL SERIALIZABLE`
      const [row] = await tx.$queryRaw<{ others: bigint }[]>`
        SELECT sum(on_duty) AS others FROM guards WHERE name IN ('ana', 'rui') AND name <> ${name}`
      await bothRead()
      if (Number(row?.others) === 0) return 'stays'
      await tx.$executeRaw`UPDATE guards SET on_duty = 0 WHERE name = ${name}`
      return 'leaves'
    }, database)
  const outcomes = await Promise.all([leave('ana'), leave('rui')])
  expect(outcomes.sort()).toEqual(['leaves', 'stays'])
  expect(runs).toBe(3)
})

test('a deadlock is retried, and both transactions commit', async () => {
  const bothHold = createBarrier(2)
  let runs = 0
  const raise = (tx: Tx, name: string) =>
    tx.$executeRaw`UPDATE guards SET on_duty = on_duty + 1 WHERE name = ${name}`
  const crossing = (first: string, second: string) =>
    transaction(async tx => {
      runs++
      await raise(tx, first)
      await bothHold()
      await raise(tx, second)
    }, database)
  await Promise.all([crossing('eva', 'leo'), crossing('leo', 'eva')])
  expect(runs).toBe(3)
  const rows = await database.$queryRaw`SELECT on_duty FROM guards WHERE name IN ('eva', 'leo')`
  expect(rows).toEqual([{ on_duty: 2 }, { on_duty: 2 }])
})

test.each(['40001', '40P01'])(
  'a statement that fails with %s twice succeeds at the third attempt',
  async code => {
    let runs = 0
    const work = async () => {
      runs++
      if (runs < 3) await raiseError(code)
      return 'written'
    }
    expect(await retryOnConflict(work)).toBe('written')
  },
)

test('after five conflicts the error is thrown', async () => {
  let runs = 0
  const conflict = retryOnConflict(() => {
    runs++
    return raiseError('40001')
  })
  expect(parseDatabaseError(await conflict.catch(error => error)).code).toBe('40001')
  expect(runs).toBe(5)
})

test.each(['23505', '23514', '55P03'])('another error (%s) is thrown at once', async code => {
  let runs = 0
  const refusal = retryOnConflict(() => {
    runs++
    return raiseError(code)
  })
  expect(parseDatabaseError(await refusal.catch(error => error)).code).toBe(code)
  expect(runs).toBe(1)
})

test('a lost connection is not retried, because the commit may have happened', async () => {
  let runs = 0
  const lost = transaction(async tx => {
    runs++
    const [row] = await tx.$queryRaw<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`
    await database.$queryRaw`SELECT pg_terminate_backend(${row?.pid}::int)`
    await sleep(100)
    await tx.$executeRaw`UPDATE guards SET on_duty = 9`
  }, database)
  await expect(lost).rejects.toThrow()
  expect(runs).toBe(1)
})
