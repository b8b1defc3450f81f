import { afterEach, expect, test, vi } from 'vitest'
import { isDatabaseUnavailable, parseDatabaseError } from '#lib/core/errors.ts'
import { connect, type Database } from '#lib/db/client.ts'
import { cleanUp, makeFolder, openForTest, query, readSuperuserUrl } from '#lib/testing/embedded.ts'

let database: Database | undefined
afterEach(async () => {
  await database?.$disconnect()
  await cleanUp()
})

/** A server whose commits wait for a replica that does not exist. */
async function openWithoutReplica(folder: string) {
  const { ownerUrl } = await openForTest(folder)
  await query(ownerUrl, 'CREATE TABLE coins (id int PRIMARY KEY)')
  const superuserUrl = readSuperuserUrl(folder, ownerUrl)
  await query(superuserUrl, `ALTER SYSTEM SET synchronous_standby_names = 'replica'`)
  await query(superuserUrl, 'SELECT pg_reload_conf()')
  const cancelWaiting = async () => {
    const cancel = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
    await vi.waitFor(async () => expect(await query(superuserUrl, cancel)).toHaveLength(1), 10_000)
  }
  return { ownerUrl, cancelWaiting }
}

test('a commit whose wait for a replica is cancelled has an unknown outcome', async () => {
  const { ownerUrl, cancelWaiting } = await openWithoutReplica(makeFolder())
  const client = connect({ url: ownerUrl, poolMax: 1 })
  database = client
  const commits = [
    () => client.$executeRaw`INSERT INTO coins VALUES (1)`,
    () =>
      client.$transaction(tx => tx.$executeRaw`INSERT INTO coins VALUES (2)`, { timeout: 60_000 }),
  ]
  for (const commit of commits) {
    const outcome = commit().catch(fault => fault)
    await cancelWaiting()
    const error = await outcome
    expect(parseDatabaseError(error).code).toBe('08007')
    expect(isDatabaseUnavailable(error)).toBe(true)
  }
  expect(await client.$queryRaw`SELECT id FROM coins ORDER BY id`).toEqual([{ id: 1 }, { id: 2 }])
})
