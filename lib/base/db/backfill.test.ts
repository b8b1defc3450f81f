import { beforeEach, expect, test } from 'vitest'
import { type Backfill, listOpenBackfills, runBackfill } from '#lib/base/db/backfill.ts'
import { db } from '#lib/base/db/client.ts'
import { inOwnDatabase } from '#lib/testing/fixtures.ts'

inOwnDatabase()

beforeEach(() => db().backfill.deleteMany())

/** Batches of three of so many rows. */
function makeBackfill(rows: number): Backfill & { rows: number } {
  const backfill = {
    rows,
    name: 'search_index',
    countLeft: async () => backfill.rows,
    fillBatch: async () => {
      const size = Math.min(3, backfill.rows)
      backfill.rows -= size
      return size
    },
  }
  return backfill
}

test('shows how far it is, and ends when no row is left', async () => {
  const backfill = makeBackfill(7)
  expect(await runBackfill(backfill)).toBe(3)
  const idle_s = expect.any(Number)
  expect(await listOpenBackfills()).toEqual([{ name: 'search_index', done: 3, total: 7, idle_s }])
  expect(await runBackfill(backfill)).toBe(3)
  expect(await runBackfill(backfill)).toBe(1)
  expect(await listOpenBackfills()).toEqual([{ name: 'search_index', done: 7, total: 7, idle_s }])
  expect(await runBackfill(backfill)).toBe(0)
  expect(await listOpenBackfills()).toEqual([])
  expect(await runBackfill(backfill)).toBe(0)
})

test('begins again with rows that an older process writes after the end', async () => {
  const backfill = makeBackfill(3)
  for (let run = 0; run < 2; run++) await runBackfill(backfill)
  expect(await listOpenBackfills()).toEqual([])
  backfill.rows = 4
  await runBackfill(backfill)
  expect(await listOpenBackfills()).toMatchObject([{ done: 3, total: 4 }])
})

test('counts rows that an older process writes meanwhile', async () => {
  const backfill = makeBackfill(4)
  await runBackfill(backfill)
  backfill.rows += 4
  await runBackfill(backfill)
  expect(await listOpenBackfills()).toMatchObject([{ done: 6, total: 6 }])
})

test('does not end while another worker fills the last rows', async () => {
  const backfill = makeBackfill(4)
  await runBackfill(backfill)
  expect(await runBackfill({ ...backfill, fillBatch: async () => 0 })).toBe(0)
  expect(await listOpenBackfills()).toHaveLength(1)
})
