import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readArchive, requireNoGap, restoreCommand } from './archive.ts'
import { copyFolder } from './copy.ts'
import { openBackupFolder, openWalFolder, requireSpace } from './folder.ts'
import { chooseBackup, listBackups, type Manifest } from './manifest.ts'
import { keepNewest } from './take.ts'

let folder: string
beforeEach(() => {
  folder = openBackupFolder(mkdtempSync(join(tmpdir(), 'troco-backups-')), [])
  mkdirSync(join(folder, 'wal'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const segment = (number: number, timeline = 1) =>
  `${timeline.toString(16).padStart(8, '0')}00000000${number.toString(16).padStart(8, '0')}`.toUpperCase()
const at = (time: string) => `2026-11-20T${time}:00.000Z`

function addBackup(time: string, change: Partial<Manifest> = {}): void {
  const manifest: Manifest = {
    ...{ format: 1, kind: 'embedded', version: '1.0.0', postgres: 180_000, migration: '1' },
    ...{ keyId: 'abc', beganAt: at(time), finishedAt: at(time), timeline: 1, bytes: 0 },
    ...{ startSegment: segment(2), stopSegment: segment(3), stopLsn: '0/3000100' },
    ...{ counts: {}, files: {}, ...change },
  }
  const name = at(time).replace(/[-:]|\.\d+/g, '')
  mkdirSync(join(folder, 'base', name, 'data'), { recursive: true })
  writeFileSync(join(folder, 'base', name, 'manifest.json'), JSON.stringify(manifest))
}

function addWal(time: string, ...names: string[]): void {
  for (const name of names) {
    const path = join(folder, 'wal', name)
    writeFileSync(path, name)
    utimesSync(path, new Date(at(time)), new Date(at(time)))
  }
}

const decide = (time: string | null) =>
  chooseBackup(folder, readArchive(folder), time === null ? null : new Date(at(time)))
const choose = (time: string | null) => decide(time).backup.finishedAt

describe('a time', () => {
  beforeEach(() => {
    addBackup('10:00')
    addBackup('12:00', { startSegment: segment(8), stopSegment: segment(8) })
    addWal('13:00', `${segment(9)}.gz`)
  })

  test('is reached from the newest backup that ended before it', () => {
    expect(['10:00', '11:59', '12:00', '13:00'].map(choose)).toEqual(
      ['10:00', '10:00', '12:00', '12:00'].map(at),
    )
    expect(choose(null)).toBe(at('12:00'))
  })

  test('before the oldest backup or after the last archived WAL is refused, and both are named', () => {
    for (const time of ['09:59', '13:01'])
      expect(() => choose(time)).toThrow(
        `${at(time)} cannot be restored: ${folder} reaches from ${at('10:00')} (the end of the oldest backup) to ${at('13:00')} (the last archived WAL)`,
      )
  })

  test('is not reached from a backup of a timeline that an earlier restore left', () => {
    writeFileSync(join(folder, 'wal', '00000002.history'), '1\t0/3000200\tbefore 2026-11-20\n')
    addWal('14:00', `${segment(3, 2)}.gz`)
    addBackup('12:30', { stopLsn: '0/8000100' })
    expect(choose('13:30')).toBe(at('12:00'))
    expect(choose(null)).toBe(at('12:00'))
    const skipped = (time: string | null) => decide(time).skipped
    expect(skipped(null)).toContain('The newest backup, 20261120T123000Z, is not used')
    expect(skipped(null)).toContain('move the files 00000002* out of')
    expect(skipped('12:29')).toBeNull()
    expect(() => choose('11:00')).not.toThrow()
  })
})

test('an unfinished, a damaged and a missing backup are told apart', () => {
  mkdirSync(join(folder, 'base', '.new-1'))
  expect(listBackups(folder)).toEqual([])
  expect(() => choose(null)).toThrow('contains no backup')
  addBackup('10:00')
  writeFileSync(join(folder, 'base', '20261120T100000Z', 'manifest.json'), '{"format": 1')
  expect(() => choose(null)).toThrow('manifest.json is damaged')
})

test('a gap in the WAL is named, also right after the backup', () => {
  const gapAfter = (...numbers: number[]) => {
    addWal('10:00', ...numbers.map(number => `${segment(number)}.gz`))
    requireNoGap(readArchive(folder), segment(3))
  }
  expect(() => gapAfter(2, 4, 5)).not.toThrow()
  expect(() => gapAfter(7)).toThrow(`before ${segment(7)}`)
  rmSync(join(folder, 'wal', `${segment(4)}.gz`))
  expect(() => gapAfter(6)).toThrow(`before ${segment(5)}`)
})

test('only an absent file of the WAL ends a recovery in peace', () => {
  const fetch = (name: string) => {
    const command = restoreCommand(readArchive(folder))
      .replaceAll('%f', name)
      .replaceAll('%p', join(folder, 'fetched'))
    return spawnSync('sh', ['-c', command]).status
  }
  addWal('10:00', 'plain')
  writeFileSync(join(folder, 'wal', 'damaged.gz'), 'no gzip')
  mkdirSync(join(folder, 'wal', 'unreadable'))
  expect(['plain', 'absent', 'damaged', 'unreadable'].map(fetch)).toEqual([0, 1, 200, 200])
  rmSync(join(folder, 'wal'), { recursive: true })
  expect(fetch('absent')).toBe(200)
})

test.runIf(process.geteuid?.() === 0)('the mode of an existing folder of backups stays', () => {
  const [existing, made] = [join(folder, 'existing'), join(folder, 'made')]
  mkdirSync(existing, { mode: 0o700 })
  const user = { uid: 65_534, gid: 65_534 }
  const modes = [existing, made].map(path => statSync(openBackupFolder(path, [])).mode)
  expect(modes.map(mode => mode & 0o777)).toEqual([0o700, 0o711])
  expect(() => openWalFolder(existing, user)).toThrow('run chmod o+x on it')
  expect(statSync(existing).mode & 0o777).toBe(0o700)
})

test('the newest backups are kept, with the WAL since the oldest of them and all histories', async () => {
  for (const [index, time] of ['10:00', '11:00', '12:00'].entries())
    addBackup(time, { startSegment: segment(index * 4) })
  const others = ['00000002.history.gz', `${segment(3)}.00000028.backup.gz`]
  addWal('12:00', ...[3, 4, 5, 8].map(number => `${segment(number)}.gz`), ...others)
  expect(await keepNewest(folder, 2)).toEqual(['20261120T100000Z'])
  expect(listBackups(folder).map(({ finishedAt }) => finishedAt)).toEqual([
    at('11:00'),
    at('12:00'),
  ])
  expect(readdirSync(join(folder, 'wal')).toSorted()).toEqual(
    [...[4, 5, 8].map(number => `${segment(number)}.gz`), '00000002.history.gz'].toSorted(),
  )
})

test('a folder that shares the fate of the data is refused, from both sides', () => {
  for (const other of [folder, join(folder, 'data'), join(folder, '..')])
    expect(() => openBackupFolder(folder, [other])).toThrow('choose a folder outside of it')
  expect(openBackupFolder(folder, [`${folder}-beside`])).toBe(folder)
  const file = join(folder, 'file')
  writeFileSync(file, '')
  expect(() => openBackupFolder(file, [])).toThrow(
    'it must be a folder that this user can write to',
  )
  expect(() => requireSpace(folder, 2 ** 60)).toThrow(/has \d+ MiB free, but \d+ MiB are needed/)
})

test('a copy is private, can be stopped, and one that differs from its checksums is refused', async () => {
  const from = join(folder, 'from')
  mkdirSync(join(from, 'a', 'empty'), { recursive: true })
  writeFileSync(join(from, 'a', 'file'), 'content')
  chmodSync(join(from, 'a', 'file'), 0o644)
  const expected = await copyFolder({ from, to: join(folder, '1') })
  expect(Object.keys(expected)).toEqual(['a/file'])
  expect(statSync(join(folder, '1', 'a')).mode & 0o777).toBe(0o700)
  expect(statSync(join(folder, '1', 'a', 'file')).mode & 0o777).toBe(0o600)
  expect(existsSync(join(folder, '1', 'a', 'empty'))).toBe(true)
  const stopped = copyFolder({ from, to: join(folder, '0'), signal: AbortSignal.abort() })
  await expect(stopped).rejects.toThrow('aborted')
  expect(existsSync(join(folder, '0', 'a', 'file'))).toBe(false)
  writeFileSync(join(from, 'a', 'file'), 'Content')
  const again = (to: string) => copyFolder({ from, to: join(folder, to), expected })
  await expect(again('2')).rejects.toThrow('a/file has another checksum')
  rmSync(join(from, 'a', 'file'))
  await expect(again('3')).rejects.toThrow('a/file is missing')
})
