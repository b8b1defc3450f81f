import { Client } from 'pg'
import { expect, test, vi } from 'vitest'
import { env } from '#lib/core/settings.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { checkPresence, hidePresence, isGoneSql, presence, showPresence } from '#lib/db/presence.ts'

async function connect(): Promise<Client> {
  const client = new Client({ connectionString: env().DATABASE_URL })
  await client.connect()
  return client
}

async function isGone(number: number | null): Promise<boolean> {
  const condition = isGoneSql(Prisma.sql`number`)
  const [row] = await db().$queryRaw<{ isGone: boolean }[]>`
    SELECT ${condition} AS "isGone" FROM (SELECT ${number}::integer AS number) AS process`
  return row?.isGone ?? false
}

test('a process is seen while one of its connections lives, and never takes itself for another', async () => {
  expect(presence()).toBeNull()
  const [first, second] = [await connect(), await connect()]
  await showPresence(first)
  const number = presence()
  expect(number).not.toBeNull()
  await showPresence(second)
  await first.end()
  await checkPresence()
  expect([presence(), await isGone(number)]).toEqual([number, false])
  await second.end()
  await vi.waitFor(async () => {
    await checkPresence()
    expect(presence()).toBeNull()
  })
  expect(await isGone(number)).toBe(false)
})

test('another process is gone when its connection ends', async () => {
  const own = await connect()
  await showPresence(own)
  const { rows } = await own.query(
    `SELECT classid::integer AS class FROM pg_locks WHERE locktype = 'advisory' AND objid = $1`,
    [presence()],
  )
  const other = await connect()
  await other.query('SELECT pg_advisory_lock_shared($1, 7)', [rows[0].class])
  expect([await isGone(7), await isGone(8), await isGone(null)]).toEqual([false, true, false])
  await other.end()
  await expect.poll(() => isGone(7)).toBe(true)
  hidePresence()
  await own.end()
})
