import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { listFaults } from '#e2e/cluster/faults.ts'
import {
  etcdArgs,
  haproxySettings,
  patroniSettings,
  pgbouncerSettings,
} from '#e2e/cluster/settings.ts'
import { formatTable, hasPassed, measureDisturbance, type Row } from '#e2e/cluster/table.ts'

const ROW: Row = {
  fault: 'kill -9 of a web',
  seconds: 0.4,
  targetSeconds: 0.5,
  errors: 'none',
  slowestSeconds: 1,
  lost: 0,
  doubled: 0,
  wrong: 0,
  hasHealed: true,
  machineLoad: 2,
}

test('a disturbance lasts from the first to the last start of an attempt that failed or was slow', () => {
  const attempts = [
    { startedAt: 0, tookMs: 20, outcome: '200' },
    { startedAt: 1_000, tookMs: 5_000, outcome: 'timeout' },
    { startedAt: 1_500, tookMs: 10, outcome: '503' },
    { startedAt: 3_000, tookMs: 2_500, outcome: '200' },
    { startedAt: 4_000, tookMs: 1_900, outcome: '200' },
  ]
  const errors = 'timeout × 1, 503 × 1, slow × 1'
  expect(measureDisturbance(attempts)).toEqual({ seconds: 2, errors })
  expect(measureDisturbance([])).toEqual({ seconds: 0, errors: 'none' })
})

test('a fault fails if it takes too long, loses, doubles or leaves anything, or does not heal', () => {
  expect(hasPassed(ROW)).toBe(true)
  expect(hasPassed({ ...ROW, seconds: 99, targetSeconds: null })).toBe(true)
  const failures: Partial<Row>[] = [
    { seconds: 0.6 },
    { lost: 1 },
    { doubled: 1 },
    { wrong: 1 },
    { hasHealed: false },
    { seconds: 0, targetSeconds: 0, errors: '503 × 1' },
  ]
  for (const failure of failures) {
    expect(hasPassed({ ...ROW, ...failure })).toBe(false)
    expect(formatTable([{ ...ROW, ...failure }])).toContain('FAILED: kill -9 of a web')
  }
})

test('docs/operate/failover.md shows the settings that are run', () => {
  const page = readFileSync('docs/operate/failover.md', 'utf8')
  const ofHaproxy = haproxySettings('cert.pem')
    .split('\n')
    .filter(line =>
      /^ +(mode|timeout|option|retries|http-check|http-error|default-server|use-server)/.test(line),
    )
  expect(ofHaproxy).toHaveLength(27)
  for (const line of ofHaproxy) expect(page).toContain(`${line}\n`)
  const { dcs } = JSON.parse(patroniSettings('db1', '')).bootstrap
  for (const name of ['synchronous_mode', 'failsafe_mode', 'ttl', 'loop_wait', 'retry_timeout'])
    expect(page).toContain(`\`${name}: ${dcs[name]}\``)
  expect(page).toContain(`\`primary_start_timeout: ${dcs.primary_start_timeout}\``)
  for (const name of ['wal_sender_timeout', 'wal_receiver_timeout'])
    expect(page).toContain(`\`${name}: ${dcs.postgresql.parameters[name]}\``)
  const [login] = /server_login_retry = \d+/.exec(pgbouncerSettings('')) ?? []
  expect(page).toContain(`\`${login}\``)
  const args = etcdArgs('etcd1', '')
  for (const name of ['heartbeat-interval', 'election-timeout'])
    expect(page).toContain(`\`${name}: ${args[args.indexOf(`--${name}`) + 1]}\``)
})

test('docs/operate/failover.md names a runbook for each fault', () => {
  const [, rows = ''] = readFileSync('docs/operate/failover.md', 'utf8').split(
    '| What fails | Runbook |\n',
  )
  const [table = ''] = rows.split('\n\n')
  const parts = [...table.matchAll(/^\| ([\w ]+) \| \[/gm)].map(([, part = '']) => part)
  const partOf = (fault: string) => parts.find(part => fault.includes(part)) ?? fault
  const met = new Set(listFaults(1).map(({ name }) => partOf(name)))
  expect([...met].toSorted()).toEqual(parts.toSorted())
})
