import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import {
  cleanUp,
  killChildren,
  makeFolder,
  openForTest,
  openInOtherProcess,
  query,
  readSuperuserUrl,
} from '#lib/testing/embedded.ts'
import type { Embedded } from './embedded.ts'

afterEach(cleanUp)

const APPLICATION_PASSWORD = 'postgres-app.password'
const FILES = ['postgres-superuser.password', APPLICATION_PASSWORD]
const WRONG_PASSWORD = { code: '28P01' }

/** Takes the application's role away, as if the process that creates it had been killed before. */
async function dropApplicationRole(dataFolder: string, { url }: Embedded): Promise<void> {
  await query(readSuperuserUrl(dataFolder, url), 'DROP ROLE troco_app')
}

function withUser(url: string, username: string): string {
  const changed = new URL(url)
  changed.username = username
  return changed.href
}

async function expectThreeRoles(dataFolder: string, { url, ownerUrl }: Embedded): Promise<void> {
  const who =
    'SELECT current_user::text AS name, rolsuper FROM pg_roles WHERE rolname = current_user'
  expect(await query(url, who)).toEqual([{ name: 'troco_app', rolsuper: false }])
  expect(await query(ownerUrl, who)).toEqual([{ name: 'troco', rolsuper: false }])
  expect(await query(readSuperuserUrl(dataFolder, url), who)).toEqual([
    { name: 'postgres', rolsuper: true },
  ])
  for (const shared of [url, ownerUrl]) {
    await expect(query(withUser(shared, 'postgres'), who)).rejects.toMatchObject(WRONG_PASSWORD)
  }
  await expect(query(withUser(ownerUrl, 'troco_app'), who)).rejects.toMatchObject(WRONG_PASSWORD)
  for (const name of FILES) expect(statSync(join(dataFolder, name)).mode & 0o777).toBe(0o600)
}

test('new data has three roles with a password each, stored for this user only', async () => {
  const dataFolder = makeFolder()
  await expectThreeRoles(dataFolder, await openForTest(dataFolder))
})

test('a later start keeps roles, passwords and data', async () => {
  const dataFolder = makeFolder()
  const first = await openForTest(dataFolder)
  await query(first.ownerUrl, 'CREATE TABLE kept AS SELECT 1 AS one')
  const passwords = () => FILES.map(name => readFileSync(join(dataFolder, name), 'utf8'))
  const stored = passwords()
  await first.release()
  const second = await openForTest(dataFolder)
  await expectThreeRoles(dataFolder, second)
  expect(passwords()).toEqual(stored)
  expect(await query(second.ownerUrl, 'SELECT one FROM kept')).toEqual([{ one: 1 }])
})

test('a missing role of the application is created by the next start', async () => {
  const dataFolder = makeFolder()
  await dropApplicationRole(dataFolder, await openForTest(dataFolder))
  await expectThreeRoles(dataFolder, await openForTest(dataFolder))
})

test('kill -9 of the process that creates it, at any moment, leaves data that the next start completes', async () => {
  const dataFolder = makeFolder()
  const before = await openForTest(dataFolder)
  for (let delayMs = 0; delayMs <= 40; delayMs += 10) {
    await dropApplicationRole(dataFolder, before)
    rmSync(join(dataFolder, APPLICATION_PASSWORD))
    const opening = openInOtherProcess(dataFolder).catch(() => {})
    await expect
      .poll(() => existsSync(join(dataFolder, APPLICATION_PASSWORD)), { interval: 1 })
      .toBe(true)
    await sleep(delayMs)
    await killChildren()
    await opening
    const next = await openForTest(dataFolder)
    await expectThreeRoles(dataFolder, next)
    await next.release()
  }
}, 60_000)

test('a lost password file is replaced, and the role gets the new password', async () => {
  const dataFolder = makeFolder()
  const first = await openForTest(dataFolder)
  rmSync(join(dataFolder, APPLICATION_PASSWORD))
  const second = await openForTest(dataFolder)
  expect(second.url).not.toBe(first.url)
  await expectThreeRoles(dataFolder, second)
})
