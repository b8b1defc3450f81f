import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const PROGRAM = 'systemd-analyze'
const FOLDER = 'docs/systemd'
const FILES = readdirSync(FOLDER)
const SERVICES = FILES.filter(file => file.endsWith('.service'))
const SERVERS = SERVICES.filter(file => /^troco-(web|worker)/.test(file))
/** Their user is that of PostgreSQL, whose shared memory RemoveIPC would remove. */
const BACKUPS = SERVICES.filter(file => /^troco-(backup|drill)/.test(file))
/** Tenths of the exposure that systemd computes: 100 is a service without any limit. */
const EXPOSURE_MAX = 25
/** First version that judges a file without a running systemd. */
const VERSION_MIN = 250
const printed = spawnSync(PROGRAM, ['--version'], { encoding: 'utf8' }).stdout ?? ''
const version = Number(/^systemd (\d+)/.exec(printed)?.[1] ?? 0)

function readUnit(file: string): string {
  return readFileSync(join(FOLDER, file), 'utf8')
}

describe.skipIf(version < VERSION_MIN).each(SERVICES)('systemd, reading %s', file => {
  const analyze = (...args: string[]) => {
    const { status, stderr } = spawnSync(PROGRAM, [...args, join(FOLDER, file)], {
      encoding: 'utf8',
    })
    return { status, stderr }
  }

  test('finds no fault', () => {
    const { status, stderr } = analyze('verify', '--man=no', '--recursive-errors=no')
    expect(stderr).not.toContain(file)
    expect(status).toBe(0)
  })

  test(`finds an exposure of at most ${EXPOSURE_MAX / 10}`, () => {
    const { status } = analyze('security', '--offline=true', `--threshold=${EXPOSURE_MAX}`)
    expect(status).toBe(0)
  })
})

test('web and worker differ in nothing but their name and command', () => {
  const [first, ...others] = SERVERS.map(file =>
    readUnit(file)
      .split('\n')
      .filter(line => !/^(#|Description=|ExecStart=)/.test(line)),
  )
  expect(others).toHaveLength(1)
  expect(others[0]).toEqual(first)
})

test('no server has the URL of the owner, as a service or in a container', () => {
  for (const file of SERVERS) expect(readUnit(file)).not.toMatch(/owner/i)
  expect(readUnit('troco-owner@.service')).toContain('EnvironmentFile=/etc/troco/owner')
  const services = readFileSync('compose.yaml', 'utf8').split(/^ {2}(?=\w+:)/m)
  const withOwner = services.filter(text => text.includes('OWNER')).map(text => text.split(':')[0])
  expect(withOwner).toEqual(['migrate', 'backup', 'postgres'])
})

test('backup and drill leave the running PostgreSQL its shared memory', () => {
  expect(BACKUPS).toHaveLength(2)
  for (const file of BACKUPS) {
    expect(readUnit(file)).toContain('User=postgres')
    expect(readUnit(file)).not.toMatch(/^RemoveIPC=/m)
  }
})

test('users of services may not write to what root or they run', () => {
  const pages = readdirSync('docs/operate').map(page => join('docs/operate', page))
  const manual = pages.map(page => readFileSync(page, 'utf8')).join('')
  expect(manual).not.toMatch(/sudo -u troco\S* (git|ln|npm run build|npm install)/)
  for (const file of SERVICES) {
    const writable = /^ReadWritePaths=(.*)$/m.exec(readUnit(file))?.[1] ?? ''
    expect(writable).not.toContain('/opt')
    expect(readUnit(file)).toContain('ProtectSystem=strict')
  }
})
