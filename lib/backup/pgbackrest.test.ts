import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { inheritedEnv, supplyEnv } from '#lib/core/settings.ts'
import { chooseBackup, listBackups, openBackupFolder, removeExpiredManifests } from './manifest.ts'
import { fetchCommand, listCopies, repositoryEnv } from './pgbackrest.ts'
import { requireEntry, requireSpace } from './recover.ts'

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
  label,
  type: 'full',
  error: false,
  prior: null,
  reference: null,
  archive: { start: '000000010000000000000002', stop: '000000010000000000000002' },
  lsn: { start: '0/2000028', stop: '0/2000100' },
  info: { size: 24_516_355 },
  ...more,
})
const infoOf = (backup: object[], code = 0, repositories = [status(0)]) =>
  JSON.stringify([
    {
      name: 's',
      backup,
      status: status(code),
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

describe('a folder of manifests', () => {
  const at = (time: string) => `2026-11-20T${time}:00.000Z`
  const nameOf = (time: string) => at(time).replace(/[-:]|\.\d+/g, '')

  function addManifest(time: string): void {
    const manifest = {
      format: 1,
      repository: { stanza: 's', label: time },
      version: '1.0.0',
      postgres: 180_000,
      migration: '1',
      keyId: 'abc',
      beganAt: at(time),
      finishedAt: at(time),
      bytes: 0,
      counts: {},
    }
    mkdirSync(join(folder, 'base', nameOf(time)), { recursive: true })
    writeFileSync(join(folder, 'base', nameOf(time), 'manifest.json'), JSON.stringify(manifest))
  }
  const choose = (time: string | null) =>
    chooseBackup(folder, time === null ? null : new Date(at(time))).finishedAt

  test('a time is reached from the newest sound backup that ended before it', () => {
    for (const time of ['10:00', '12:00', '14:00']) addManifest(time)
    print(infoOf([copyOf('10:00'), copyOf('12:00'), copyOf('14:00', { error: true })]))
    expect(['10:00', '11:59', '12:00', '15:00'].map(choose)).toEqual(
      ['10:00', '10:00', '12:00', '12:00'].map(at),
    )
    expect(choose(null)).toBe(at('12:00'))
    expect(() => choose('09:59')).toThrow(
      `${at('09:59')} cannot be restored: the oldest backup in ${folder} ended at ${at('10:00')}`,
    )
    print(infoOf([copyOf('14:00', { error: true })]))
    expect(() => choose(null)).toThrow('have damaged pages')
  })

  test('an unfinished, a damaged and a missing manifest are told apart', () => {
    mkdirSync(join(folder, 'base', '.new-1'), { recursive: true })
    print(infoOf([]))
    expect(listBackups(folder)).toEqual([])
    expect(() => choose(null)).toThrow('contains no backup: name the folder')
    addManifest('10:00')
    expect(() => choose(null)).toThrow('contains no backup that pgBackRest still has')
    writeFileSync(join(folder, 'base', nameOf('10:00'), 'manifest.json'), '{"format": 1')
    expect(() => choose(null)).toThrow('manifest.json is damaged')
  })

  test('loses what pgBackRest has removed, and nothing while its list cannot be read', () => {
    for (const time of ['10:00', '12:00']) addManifest(time)
    print(infoOf([], 0, [status(99, 'denied')]))
    expect(() => removeExpiredManifests(folder)).toThrow('cannot list the backups')
    print(infoOf([copyOf('12:00')]))
    expect(removeExpiredManifests(folder)).toEqual([nameOf('10:00')])
    expect(listBackups(folder).map(({ finishedAt }) => finishedAt)).toEqual([at('12:00')])
  })

  test.runIf(process.geteuid?.() === 0)(
    'can be entered by who runs PostgreSQL if Troco makes it, and keeps its mode if it exists',
    () => {
      const [existing, made] = [join(folder, 'existing'), join(folder, 'made')]
      mkdirSync(existing, { mode: 0o700 })
      const modes = [existing, made].map(path => statSync(openBackupFolder(path)).mode & 0o777)
      expect(modes).toEqual([0o700, 0o711])
      const user = { uid: 65_534, gid: 65_534 }
      expect(() => requireEntry(existing, user)).toThrow('run chmod o+x on it')
      expect(() => requireEntry(made, user)).not.toThrow()
    },
  )

  test('must be a folder; and a disk without room for a copy is refused', () => {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    expect(() => openBackupFolder(file)).toThrow('that this user can write to')
    expect(existsSync(join(openBackupFolder(join(folder, 'new')), 'base'))).toBe(true)
    expect(() => requireSpace(folder, 2 ** 60)).toThrow(/has \d+ MiB free, but \d+ MiB are needed/)
  })
})
