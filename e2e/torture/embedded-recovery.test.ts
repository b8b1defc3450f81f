import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { type Embedded, withLock } from '#lib/db/embedded.ts'
import { readProcessIdentity } from '#lib/db/embedded-server.ts'
import {
  cleanUp,
  findProcessesIn,
  kill,
  killChildren,
  makeFolder,
  openForTest,
  openInOtherProcess,
  query,
  runModule,
} from '#lib/testing/embedded.ts'
import { testInTorture } from '#lib/testing/torture.ts'

afterEach(cleanUp)

const commitRow = ({ ownerUrl }: Embedded) =>
  query(ownerUrl, 'CREATE TABLE kept AS SELECT 1 AS one')

async function expectRow({ ownerUrl }: Embedded) {
  expect(await query(ownerUrl, 'SELECT one FROM kept')).toEqual([{ one: 1 }])
}

describe('after kill -9', () => {
  /** `bin/start` kills the postmaster under a server. */
  testInTorture('of all PostgreSQL processes, a committed row is still there', async () => {
    const dataFolder = makeFolder()
    const killed = await openForTest(dataFolder)
    await commitRow(killed)
    for (const pid of findProcessesIn(killed.location)) process.kill(pid, 'SIGKILL')
    const next = await openForTest(dataFolder)
    expect(next).toMatchObject({ isAdopted: false })
    expect(next.pid).not.toBe(killed.pid)
    await expectRow(next)
  })

  test('of the postmaster, a backend that still runs is stopped before the next start', async () => {
    const dataFolder = makeFolder()
    const killed = await openForTest(dataFolder)
    await commitRow(killed)
    const busy = query(killed.url, 'DO $$ BEGIN LOOP END LOOP; END $$').catch(error => error)
    await expect
      .poll(() => query(killed.url, `SELECT 1 FROM pg_stat_activity WHERE query LIKE 'DO %'`))
      .toHaveLength(1)
    process.kill(killed.pid, 'SIGKILL')
    const before = findProcessesIn(killed.location)
    const next = await openForTest(dataFolder)
    expect(before.filter(pid => pid !== killed.pid && readProcessIdentity(pid) !== null)).toEqual(
      [],
    )
    expect(await busy).toBeInstanceOf(Error)
    await expectRow(next)
  })

  test('of the process group that started PostgreSQL, the next process adopts it and can stop it', async () => {
    const dataFolder = makeFolder()
    const { child, embedded } = await openInOtherProcess(dataFolder)
    await commitRow(embedded)
    await kill(child, true)
    const next = await openForTest(dataFolder)
    expect(next).toMatchObject({ isAdopted: true, pid: embedded.pid, url: embedded.url })
    await expectRow(next)
    await next.release()
    // The last process may still be in the list for a moment after it has ended.
    await expect.poll(() => findProcessesIn(next.location)).toEqual([])
  })

  test('during initdb, the unfinished folder is never used as data', async () => {
    const dataFolder = makeFolder()
    const leftovers = () => readdirSync(dataFolder).filter(name => name.includes('.new-'))
    const opening = openInOtherProcess(dataFolder).catch(error => error.message)
    await expect.poll(leftovers, { interval: 2, timeout: 5_000 }).not.toEqual([])
    const [folder = ''] = leftovers()
    await expect
      .poll(() => existsSync(join(dataFolder, folder, 'PG_VERSION')), { interval: 2 })
      .toBe(true)
    await killChildren()
    expect(await opening).toMatch(/ended without opening/)
    expect(existsSync(join(dataFolder, 'postgres'))).toBe(false)
    const next = await openForTest(dataFolder)
    await commitRow(next)
    await next.release()
    const reopen = async () => {
      await (await openForTest(dataFolder)).release()
      return leftovers()
    }
    await expect.poll(reopen, { timeout: 5_000 }).toEqual([])
    await expectRow(await openForTest(dataFolder))
  })

  test('of the process that holds the lock, the lock is free at once', async () => {
    const dataFolder = makeFolder()
    const child = runModule(
      `const { withLock } = await import('#lib/db/embedded.ts')
      await withLock(${JSON.stringify(dataFolder)}, async () => {
        console.log('held')
        await new Promise(() => setInterval(() => {}, 1000))
      })`,
    )
    await once(createInterface({ input: child.stdout }), 'line')
    const acquired = withLock(dataFolder, async () => Date.now())
    const early = await Promise.race([acquired, sleep(300, 'still held')])
    expect(early).toBe('still held')
    const killedAt = Date.now()
    await kill(child)
    expect((await acquired) - killedAt).toBeLessThan(10_000)
  })
})

describe('a stored pid counts only for the process that wrote it', () => {
  test('users that died or whose pid was reused do not keep PostgreSQL running', async () => {
    const dataFolder = makeFolder()
    const embedded = await openForTest(dataFolder)
    const users = join(dataFolder, 'postgres-users')
    const { pid: dead } = spawnSync('true')
    writeFileSync(join(users, `${dead}.dead`), readProcessIdentity(process.pid) ?? '')
    writeFileSync(join(users, `${process.ppid}.reused`), 'another life')
    writeFileSync(join(users, `${process.ppid}.living`), readProcessIdentity(process.ppid) ?? '')
    await embedded.release()
    expect(readdirSync(users)).toEqual([`${process.ppid}.living`])
    expect(findProcessesIn(embedded.location)).toContain(embedded.pid)
    writeFileSync(join(users, `${process.ppid}.living`), 'another life')
    await embedded.release()
    await expect.poll(() => findProcessesIn(embedded.location)).toEqual([])
  })

  test('a postmaster.pid of a dead, zombie or unrelated process does not prevent a start', async () => {
    const dataFolder = makeFolder()
    const first = await openForTest(dataFolder)
    await commitRow(first)
    await first.release()
    const { uid, gid } = statSync(first.location)
    // After `exec` the parent never waits for its child, which stays a zombie of PostgreSQL's user.
    const script = 'true & echo $!; exec sleep 60'
    const parent = spawn('sh', ['-c', script], { uid, gid, stdio: ['ignore', 'pipe', 'ignore'] })
    try {
      const [zombie] = await once(createInterface({ input: parent.stdout }), 'line')
      for (const pid of [spawnSync('true').pid, zombie, parent.pid]) {
        const lines = [pid, first.location, 1_700_000_000, 5432, '', '127.0.0.1', '', 'ready', '']
        writeFileSync(join(first.location, 'postmaster.pid'), lines.join('\n'))
        const next = await openForTest(dataFolder)
        expect(next.isAdopted).toBe(false)
        await expectRow(next)
        await next.release()
      }
    } finally {
      await kill(parent)
    }
  })
})

test('an existing empty data folder is used', async () => {
  const dataFolder = makeFolder()
  mkdirSync(join(dataFolder, 'postgres'))
  const embedded = await openForTest(dataFolder)
  expect(await query(embedded.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
})
