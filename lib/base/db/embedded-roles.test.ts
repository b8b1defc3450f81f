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

const FILES = ['postgres-superuser.password', 'postgres-app.password']
const WRONG_PASSWORD = { code: '28P01' }

/** Sets the roles back to those of earlier versions: one role, with the superuser's password. */
async function revertToOneRole(dataFolder: string, { ownerUrl }: Embedded, drop = FILES) {
  const superuserUrl = readSuperuserUrl(dataFolder, ownerUrl)
  const password = decodeURIComponent(new URL(ownerUrl).password)
  await query(superuserUrl, `DROP ROLE troco_app; ALTER ROLE postgres PASSWORD '${password}'`)
  for (const name of drop) rmSync(join(dataFolder, name))
}

function withUser(url: string, username: string): string {
  const changed = new URL(url)
  changed.username = username
  return changed.href
}

async function expectTwoRoles(dataFolder: string, { url, ownerUrl }: Embedded): Promise<void> {
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
  await expectTwoRoles(dataFolder, await openForTest(dataFolder))
})

test('data with one role gets the second one at the next start, and keeps it', async () => {
  const dataFolder = makeFolder()
  const before = await openForTest(dataFolder)
  await query(before.ownerUrl, 'CREATE TABLE kept AS SELECT 1 AS one')
  await revertToOneRole(dataFolder, before)
  await before.release()
  const first = await openForTest(dataFolder)
  await expectTwoRoles(dataFolder, first)
  const passwords = () => FILES.map(name => readFileSync(join(dataFolder, name), 'utf8'))
  const stored = passwords()
  const second = await openForTest(dataFolder)
  await expectTwoRoles(dataFolder, second)
  expect(passwords()).toEqual(stored)
  expect(second.url).toBe(first.url)
  expect(await query(second.ownerUrl, 'SELECT one FROM kept')).toEqual([{ one: 1 }])
})

test.each([
  ['the passwords were stored', []],
  ['one password was stored', ['postgres-app.password']],
])('a conversion that was interrupted after %s is repeated', async (_when, drop) => {
  const dataFolder = makeFolder()
  const before = await openForTest(dataFolder)
  await revertToOneRole(dataFolder, before, drop)
  await expectTwoRoles(dataFolder, await openForTest(dataFolder))
})

test('a conversion that was interrupted before its last step is repeated', async () => {
  const dataFolder = makeFolder()
  const before = await openForTest(dataFolder)
  await query(readSuperuserUrl(dataFolder, before.url), 'DROP ROLE troco_app')
  await expectTwoRoles(dataFolder, await openForTest(dataFolder))
})

test('kill -9 of the converting process at any moment leaves data that the next start converts', async () => {
  const dataFolder = makeFolder()
  const before = await openForTest(dataFolder)
  for (let delayMs = 0; delayMs <= 40; delayMs += 10) {
    await revertToOneRole(dataFolder, before)
    const opening = openInOtherProcess(dataFolder).catch(() => {})
    await expect
      .poll(() => existsSync(join(dataFolder, 'postgres-superuser.password')), { interval: 1 })
      .toBe(true)
    await sleep(delayMs)
    await killChildren()
    await opening
    const next = await openForTest(dataFolder)
    await expectTwoRoles(dataFolder, next)
    await next.release()
  }
}, 60_000)

test('a lost password file is replaced, and the role gets the new password', async () => {
  const dataFolder = makeFolder()
  const first = await openForTest(dataFolder)
  rmSync(join(dataFolder, 'postgres-app.password'))
  const second = await openForTest(dataFolder)
  expect(second.url).not.toBe(first.url)
  await expectTwoRoles(dataFolder, second)
})
