import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { migrate, readFunctions } from '#lib/db/migrate.ts'
import { query } from '#lib/testing/embedded.ts'
import { makeDatabase } from '#lib/testing/fixtures.ts'

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
        expect([file, content.includes(path)]).toEqual([file, true])
        expect([path, text.includes(file)]).toEqual([path, true])
      }
      if (callers.length === 0) expect(content, file).toMatch(/^-- (Trigger of|Kept for) /m)
    }
  })
})
