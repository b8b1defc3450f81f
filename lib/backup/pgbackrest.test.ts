import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { inheritedEnv, supplyEnv } from '#lib/core/settings.ts'
import { listCopies } from './pgbackrest.ts'
import { fetchCommand, repositoryEnv } from './pgbackrest-program.ts'

// e2e/torture/pgbackrest.test.ts runs the program itself. This stands for what takes it months, or several machines.
const { PATH = '' } = inheritedEnv()
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troco-pgbackrest-'))
  chmodSync(folder, 0o755)
  supplyEnv({ PATH: `${folder}:${PATH}` })
})
afterEach(() => {
  supplyEnv({ PATH })
  rmSync(folder, { recursive: true, force: true })
})

/** Lets `pgbackrest` print a text. */
function print(text: string, exitCode = 0): void {
  writeFileSync(join(folder, 'info'), text, { mode: 0o644 })
  const script = `#!/bin/sh\necho 'a warning' >&2\ncat '${folder}/info'\nexit ${exitCode}\n`
  writeFileSync(join(folder, 'pgbackrest'), script, { mode: 0o755 })
}

const status = (code: number, message = 'ok') => ({ code, message })
const copyOf = (label: string, more: object = {}) => ({
  ...{ label, type: 'full', error: false, prior: null, reference: null },
  ...{ archive: { start: '000000010000000000000002', stop: '000000010000000000000002' } },
  ...{ lsn: { start: '0/2000028', stop: '0/2000100' }, info: { size: 24_516_355 }, ...more },
})
const infoOf = (backup: object[], code = 0, repositories = [status(0)]) =>
  JSON.stringify([
    {
      ...{ name: 's', backup, status: status(code) },
      repo: repositories.map((each, index) => ({ key: index + 1, status: each })),
    },
  ])

test('ten years of copies are listed, with those that are offline or damaged', () => {
  const copies = Array.from({ length: 3_650 }, (_, day) =>
    copyOf(`${day}`, { filler: '.'.repeat(300) }),
  )
  const offline = { archive: { start: null, stop: null }, lsn: undefined }
  print(infoOf([...copies, copyOf('offline', offline), copyOf('damaged', { error: true })]))
  const listed = listCopies('s')
  expect(listed).toHaveLength(3_652)
  expect(listed.slice(-2)).toEqual([
    { label: 'offline', isDamaged: false },
    { label: 'damaged', isDamaged: true },
  ])
})

test('every repository must be readable, or have no backup yet', () => {
  const listed = (code: number, ...repositories: ReturnType<typeof status>[]) => {
    print(infoOf([copyOf('1')], code, repositories))
    return listCopies('s').length
  }
  const none = status(2, 'no valid backups')
  expect([listed(0, status(0)), listed(2, none), listed(4, status(0), none)]).toEqual([1, 1, 1])
  const problem = 'pgBackRest cannot list the backups of s: '
  expect(() => listed(4, status(0), status(99, '[PathOpenError]\n  denied'))).toThrow(
    `${problem}[PathOpenError] denied. Check`,
  )
  for (const code of [1, 3, 5, 6, 99]) expect(() => listed(code, status(code))).toThrow(problem)
  expect(() => listed(5, status(0), status(0))).toThrow(problem)
})

test('a failure is quoted, and a list of another form is not printed', () => {
  print('ERROR: [055]: unable to open missing file\n       for read', 55)
  expect(() => listCopies('s')).toThrow(
    /^pgBackRest reported: unable to open missing file for read$/,
  )
  for (const text of ['no JSON', '[]', '[{"backup":[{}],"status":{}}]']) {
    print(text)
    expect(() => listCopies('s')).toThrow(/^pgBackRest printed a list .* cannot read: [^{[]*$/)
  }
})

test('the command that fetches WAL ends a recovery unless the file is there or absent', () => {
  const command = fetchCommand("it's", '/a b/100%')
  expect(command).toContain(`'--stanza=it'\\''s'`)
  expect(command).toContain(`'--pg1-path=/a b/100%%'`)
  expect(command).toMatch(/ archive-get %f "%p"; s=\$\?; \[ \$s -le 1 ] \|\| exit 200; exit \$s$/)
})

test('PostgreSQL gets the variables of the repository, and no other secret', () => {
  supplyEnv({ PGBACKREST_REPO1_CIPHER_PASS: 'open', PGBACKREST_STANZA: 's', TROCO_SECRET: 'x' })
  const names = Object.keys(repositoryEnv())
  expect(names).toContain('PGBACKREST_REPO1_CIPHER_PASS')
  expect(names.filter(name => !/^(PATH|PGBACKREST_(?!STANZA))/.test(name))).toEqual([])
})
