import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDataFolder } from '#bin/runtime.ts'
import { markRestored } from '#lib/backup/records.ts'
import { openEmbedded } from '#lib/db/embedded.ts'
import { copyData, type Installation, makeInstallation, runTroco } from '#lib/testing/process.ts'

let installation: Installation
const troco = (...args: string[]) => runTroco(args, installation.settings)

beforeAll(async () => {
  installation = await makeInstallation()
  const made = await troco('account', 'create', '--name', 'P', '--email', 'p@x.example')
  expect(made, made.output).toMatchObject({ code: 0 })
})
afterAll(() => installation.remove())

test('a copy of the stopped embedded database starts and has what the original has', async () => {
  const copy = await makeInstallation()
  copyData(installation, copy)
  const listed = await runTroco(['account', 'list'], copy.settings)
  copy.remove()
  expect(listed, listed.output).toMatchObject({ code: 0 })
  expect(listed.output).toContain('p@x.example')
})

test('commands that need pgBackRest say so, and what to do with the embedded database', async () => {
  for (const args of [['backup'], ['drill'], ['restore', '--to', 'latest', '--into', 'x']]) {
    const refused = await troco(...args)
    expect(refused.code, args.join()).toBe(1)
    expect(refused.output).toContain('stop Troco and copy its folders')
  }
  const settings = { ...installation.settings, DATABASE_URL: 'postgresql://u:p@127.0.0.1:1/x' }
  const required = { TROCO_SECRET: '4f'.repeat(32), PUBLIC_URL: 'https://pay.troco.test' }
  const refused = await runTroco(['backup'], { ...settings, ...required, PGBACKREST_STANZA: '' })
  expect(refused.output).toContain('PGBACKREST_STANZA is not set')
})

test('a restored database serves nothing before `restore begin`', async () => {
  const { folder, secrets } = openDataFolder(join(installation.folder, 'data'))
  const to = new Date('2026-11-20T14:05:00.000Z')
  const embedded = await openEmbedded({ dataFolder: folder, password: secrets.database })
  await markRestored(embedded.ownerUrl, to)
  await embedded.release()
  const refused = await troco('worker')
  expect(refused.code).toBe(1)
  expect(refused.output).toContain(`The database was restored to ${to.toISOString()}.`)
  const late = new Date(to.getTime() + 1).toISOString()
  const begun = await troco('restore', 'begin', '--to', late)
  expect(begun.output).toContain(`Restored to ${to.toISOString()}: `)
  const again = await troco('restore', 'begin', '--to', to.toISOString())
  expect(again.output).toContain('nothing was changed')
})
