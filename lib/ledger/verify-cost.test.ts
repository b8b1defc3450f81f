import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, vi } from 'vitest'
import { findServerPrograms } from '#lib/backup/pgbackrest.ts'
import { connect } from '#lib/db/client.ts'
import { findPostgresUser } from '#lib/db/embedded-server.ts'
import { prepareDatabase } from '#lib/db/roles.ts'
import { accountScope, limitPlans, verifyLedger } from '#lib/ledger/check.ts'
import { INVARIANTS, violationSql } from '#lib/ledger/invariants.ts'
import { makeDatabase, superuserUrlOf } from '#lib/testing/database.ts'
import { query } from '#lib/testing/embedded.ts'
import { historySql, ONE_CHARGE_EACH } from '#lib/testing/ledger-history.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { findFreePort } from '#lib/testing/server.ts'
import { testInTorture } from '#lib/testing/torture.ts'

const PAYMENTS = 200_000
/** Rows that a check may read, compare or hand on per payment of the ledger: measured are 14. */
const ROWS_PER_PAYMENT_MAX = 25
const OLDEST_SERVER = 15
const ACCOUNT = '0190a000-0000-7000-8000-00000000000a'

interface PlanNode {
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Join Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: PlanNode[]
}

/** Counts the rows that each node of an executed plan has produced or thrown away. */
function countRows(node: PlanNode): number {
  const rows =
    node['Actual Rows'] +
    (node['Rows Removed by Filter'] ?? 0) +
    (node['Rows Removed by Join Filter'] ?? 0) +
    (node['Rows Removed by Index Recheck'] ?? 0)
  return (node.Plans ?? []).reduce(
    (sum, part) => sum + countRows(part),
    rows * node['Actual Loops'],
  )
}

/** Returns what each check read per payment, of one account or of all. */
async function measureChecks(url: string, accountId?: string): Promise<Record<string, number>> {
  const database = connect({ url, poolMax: 1 })
  const read = database.$transaction(
    async tx => {
      await tx.$executeRaw`SET LOCAL statement_timeout = '300 s'`
      await limitPlans(tx)
      const measured: Record<string, number> = {}
      for (const check of INVARIANTS) {
        const { invariant } = check
        const { sql, values } = violationSql(check, accountScope(accountId))
        const [row] = await tx.$queryRawUnsafe<{ 'QUERY PLAN': { Plan: PlanNode }[] }[]>(
          `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${numberPlaceholders(sql)}`,
          ...values,
        )
        measured[invariant] = countRows(row?.['QUERY PLAN'][0]?.Plan as PlanNode) / PAYMENTS
      }
      return measured
    },
    { timeout: 3_600_000 },
  )
  return read.finally(() => database.$disconnect())
}

/** Prisma's `sql` has question marks, which none of these statements contains otherwise. */
function numberPlaceholders(sql: string): string {
  let position = 0
  return sql.replaceAll('?', () => `$${++position}`)
}

let oldServer: ChildProcess | undefined
const folders: string[] = []
afterAll(async () => {
  if (oldServer && oldServer.exitCode === null) {
    oldServer.kill('SIGINT')
    await once(oldServer, 'exit')
  }
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

function findOldPrograms(): string | null {
  try {
    return findServerPrograms(OLDEST_SERVER)
  } catch {
    return null
  }
}
const oldPrograms = findOldPrograms()

/** Starts a migrated PostgreSQL of the oldest version; returns its URL for the superuser. */
async function startOldServer(bin: string): Promise<string> {
  const user = process.getuid?.() === 0 ? findPostgresUser() : null
  const folder = makeScratchFolder('troco-oldest-')
  folders.push(folder)
  const location = join(folder, 'data')
  mkdirSync(location)
  if (user) chownSync(location, user.uid, user.gid)
  const run = { cwd: '/', stdio: 'ignore', ...user } as const
  const initialize = ['-D', location, '-A', 'trust', '-U', 'postgres', '--locale=C.UTF-8']
  execFileSync(join(bin, 'initdb'), initialize, run)
  const port = await findFreePort()
  const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=']
  oldServer = spawn(
    join(bin, 'postgres'),
    ['-D', location, ...settings.flatMap(setting => ['-c', setting])],
    run,
  )
  const url = `postgresql://postgres@127.0.0.1:${port}/postgres`
  await vi.waitFor(() => query(url, 'SELECT 1'), { timeout: 30_000 })
  await prepareDatabase({ url, ownerUrl: undefined })
  return url
}

const servers: [string, () => Promise<string>][] = [
  ['the embedded PostgreSQL', async () => superuserUrlOf(await makeDatabase())],
]
if (oldPrograms) servers.push([`PostgreSQL ${OLDEST_SERVER}`, () => startOldServer(oldPrograms)])
else
  process.stderr.write(`PostgreSQL ${OLDEST_SERVER} is not on this machine: not measured there\n`)

testInTorture.for(servers)(
  `verification of ${PAYMENTS} payments of one account reads each a few times, on %s`,
  { timeout: 1_800_000 },
  async ([, open]) => {
    const url = await open()
    await query(url, ONE_CHARGE_EACH)
    await query(url, historySql(ACCOUNT, PAYMENTS))
    for (const accountId of [undefined, ACCOUNT]) {
      for (const [invariant, rows] of Object.entries(await measureChecks(url, accountId)))
        expect.soft(rows, `${invariant} (${accountId})`).toBeLessThan(ROWS_PER_PAYMENT_MAX)
    }
    const database = connect({ url, poolMax: 1 })
    const { findings, transfers } = await verifyLedger(database).finally(() =>
      database.$disconnect(),
    )
    expect(findings.filter(finding => finding.violation)).toEqual([])
    expect(transfers).toBe(PAYMENTS * 1.4)
  },
)
