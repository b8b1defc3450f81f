import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readFunctions } from '#lib/base/db/functions.ts'
import { migrate } from '#lib/base/db/migrate.ts'
import { query } from '#lib/testing/embedded.ts'
import { makeDatabase } from '#lib/testing/fixtures.ts'

/**
 * Checksums of all released versions. A change of a function adds a line; existing lines never
 * change.
 */
const RELEASED = [
  'troco_claim_deliveries 1 c84430c7248b',
  'troco_claim_deliveries_v2 1 1a2c72080032',
  'troco_claim_deliveries_v2 2 dca070a38de1',
  'troco_claim_deliveries_v2 3 863d3e967b7c',
  'troco_claim_deliveries_v2 4 747537205699',
  'troco_disputed 1 9c15f17806dc',
  'troco_finish_deliveries 1 c11a5d96c212',
  'troco_fold 1 0c29b28cd23c',
  'troco_forget_check 1 a124190b8c3a',
  'troco_guard_state 1 34a05a2df9e2',
  'troco_guard_state 2 8dc2d689771e',
  'troco_host_of 1 50b033198592',
  'troco_prune_events 1 3fff5ed4440e',
  'troco_queue_audit_record 1 7288424066d1',
  'troco_refuse 1 bb5ebad63877',
  'troco_refuse_caller 1 a8bd743a11a5',
  'troco_refuse_caller 2 ebc8ff6085c2',
  'troco_refuse_change 1 121f20daf9c8',
  'troco_refuse_other_charge 1 bf7b5bd85ae9',
  'troco_rotate_request_log 1 59044cfa73ab',
  'troco_touch_lanes 1 955c08831796',
  'troco_touch_lanes 2 a9d2475285b6',
  'troco_touch_lanes 3 6f0d1a464015',
]

let url: string
let folder: string
beforeEach(async () => {
  url = await makeDatabase({ migrated: false })
  folder = mkdtempSync(join(tmpdir(), 'troco-functions-'))
  mkdirSync(join(folder, 'migrations'))
  mkdirSync(join(folder, 'functions'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const run = () => migrate(url, { folder: join(folder, 'migrations') })
const callFunction = async () => (await query(url, 'SELECT troco_answer() AS is'))[0]?.is

function writeFunction(version: number, body: string, comment = '-- Answers.'): void {
  const statement = `CREATE OR REPLACE FUNCTION troco_answer() RETURNS int LANGUAGE sql AS '${body}';`
  const file = join(folder, 'functions', 'troco_answer.sql')
  writeFileSync(file, `-- version ${version}\n${comment}\n${statement}\n`)
}

function writeMigration(name: string, sql: string): void {
  mkdirSync(join(folder, 'migrations', name))
  writeFileSync(join(folder, 'migrations', name, 'migration.sql'), sql)
}

describe('the migrator and the functions folder beside the migrations', () => {
  test('a new database gets the functions after its migrations, and only once', async () => {
    writeMigration('1_first', 'CREATE TABLE one (id int)')
    writeFunction(1, 'SELECT 1')
    expect(await run()).toEqual([
      '1_first',
      expect.stringMatching(/^functions\/troco_answer@\w{12}$/),
    ])
    expect(await callFunction()).toBe(1)
    expect(await run()).toEqual([])
  })

  test('a function made by a migration is replaced by its file', async () => {
    writeMigration(
      '1_first',
      `CREATE FUNCTION troco_answer() RETURNS int LANGUAGE sql AS 'SELECT 0'`,
    )
    writeFunction(1, 'SELECT 1')
    expect(await run()).toHaveLength(2)
    expect(await callFunction()).toBe(1)
  })

  test('a changed file with a higher version is applied once', async () => {
    writeFunction(1, 'SELECT 1')
    await run()
    writeFunction(2, 'SELECT 2')
    expect(await run()).toHaveLength(1)
    expect(await callFunction()).toBe(2)
    expect(await run()).toEqual([])
  })

  test('an older process does not replace a newer function', async () => {
    writeFunction(2, 'SELECT 2')
    await run()
    writeFunction(1, 'SELECT 1')
    expect(await run()).toEqual([])
    expect(await callFunction()).toBe(2)
  })

  test('a changed file with the same version stops the start; a changed comment does not', async () => {
    writeFunction(1, 'SELECT 1')
    await run()
    writeFunction(1, 'SELECT 1', '-- Answers one.')
    expect(await run()).toEqual([])
    writeFunction(1, 'SELECT 2')
    await expect(run()).rejects.toThrow(/^Function troco_answer was changed after it was applied/)
    expect(await callFunction()).toBe(1)
  })

  test('five concurrent migrations apply a function once', async () => {
    writeFunction(1, 'SELECT 1')
    const applied = await Promise.all(Array.from({ length: 5 }, run))
    expect(applied.flat()).toHaveLength(1)
  })

  test('a change of the return type fails and leaves the old function', async () => {
    writeFunction(1, 'SELECT 1')
    await run()
    const file = join(folder, 'functions', 'troco_answer.sql')
    const text = readFileSync(file, 'utf8').replace('version 1', 'version 2')
    writeFileSync(file, text.replace('RETURNS int', 'RETURNS text'))
    await expect(run()).rejects.toThrow(/^Function troco_answer failed and was rolled back/)
    expect(await callFunction()).toBe(1)
  })

  test.each([
    ['no version', 'CREATE OR REPLACE FUNCTION troco_answer() RETURNS int;\n'],
    ['another name', '-- version 1\nCREATE OR REPLACE FUNCTION troco_other() RETURNS int;\n'],
  ])('a file with %s stops the start', async (_what, text) => {
    writeFileSync(join(folder, 'functions', 'troco_answer.sql'), text)
    await expect(run()).rejects.toThrow(/^troco_answer\.sql must begin with "-- version N"/)
  })
})

describe('prisma/functions', () => {
  test('a changed function has a new version', () => {
    const currentVersions = readFunctions('prisma/functions').map(
      ({ name, version, checksum }) => `${name} ${version} ${checksum}`,
    )
    expect(currentVersions.filter(line => !RELEASED.includes(line))).toEqual([])
    const versions = RELEASED.map(line => line.replace(/ \w+$/, ''))
    expect(versions).toEqual([...new Set(versions)])
  })

  test('version 1 of a function has the same body as in its released migration', async () => {
    const firstVersions = readFunctions('prisma/functions').filter(({ version }) => version === 1)
    const definitions = async (target: string) => {
      const rows = await query(
        target,
        `SELECT proname AS name, pg_get_functiondef(oid) AS definition FROM pg_proc
         WHERE proname LIKE 'troco\\_%' ORDER BY proname`,
      )
      return rows.filter(row => firstVersions.some(({ name }) => name === row.name))
    }
    cpSync('prisma/migrations', join(folder, 'migrations'), { recursive: true })
    await run()
    const released = await definitions(url)
    expect(released.length).toBeGreaterThan(5)
    const names = released.map(row => row.name)
    const current = await definitions(await makeDatabase())
    expect(current.filter(row => names.includes(row.name))).toEqual(released)
  })

  test('each file mentions the files that call its function, and those mention it', () => {
    const files = execFileSync('git', ['ls-files', 'lib/*.ts'], { encoding: 'utf8' }).split('\n')
    const sources = files
      .filter(path => path !== '' && !path.endsWith('.test.ts'))
      .map(path => ({ path, text: readFileSync(path, 'utf8') }))
    for (const { name } of readFunctions('prisma/functions')) {
      const file = `prisma/functions/${name}.sql`
      const callers = sources.filter(({ text }) => text.includes(`${name}(`))
      const content = readFileSync(file, 'utf8')
      for (const { path, text } of callers) {
        expect(content, file).toContain(path)
        expect(text, path).toContain(file)
      }
      if (callers.length === 0) expect(content, file).toMatch(/^-- (Trigger of|Kept for) /m)
    }
  })
})
