import { Client } from 'pg'
import { expect, test } from 'vitest'
import { db, Prisma } from '#lib/base/db/client.ts'
import { hidePresence, isGoneSql, presence, showPresence } from '#lib/base/db/presence.ts'
import { env } from '#lib/base/env.ts'

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

test('a process is seen while one of its connections lives, and without one it is not shown', async () => {
  expect(presence()).toBeNull()
  expect(await isGone(null)).toBe(false)
  const first = await connect()
  await showPresence(first)
  const number = presence()
  expect(number).not.toBeNull()
  expect([await isGone(number), await isGone(1)]).toEqual([false, true])
  const second = await connect()
  await showPresence(second)
  await first.end()
  expect([presence(), await isGone(number)]).toEqual([number, false])
  hidePresence()
  expect(presence()).toBeNull()
  await second.end()
  await expect.poll(() => isGone(number)).toBe(true)
})
