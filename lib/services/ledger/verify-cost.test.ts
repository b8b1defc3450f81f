import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { findServerPrograms } from '#lib/base/backup/programs.ts'
import { connect } from '#lib/base/db/client.ts'
import { findPostgresUser } from '#lib/base/db/embedded-location.ts'
import { prepareDatabase } from '#lib/base/db/roles.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/services/gateway/choose.ts'
import { INVARIANTS } from '#lib/services/ledger/invariants.ts'
import { accountScope, limitPlans, verifyLedger } from '#lib/services/ledger/verify.ts'
import { makeDatabase, superuserUrlOf } from '#lib/testing/database.ts'
import { query } from '#lib/testing/embedded.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { findFreePort } from '#lib/testing/server.ts'
import { pickSize } from '#lib/testing/size.ts'

const PAYMENTS = pickSize(6_000, 200_000)
/** Rows that a check may read, compare or hand on per payment of the ledger: measured are 14. */
const ROWS_PER_PAYMENT_MAX = 25
const OLDEST_SERVER = 15
const ACCOUNT = '0190a000-0000-7000-8000-00000000000a'

/** Statistics of 2,000 accounts with one charge each, which mislead the planner about what follows. */
const ONE_CHARGE_EACH = `
  SET session_replication_role = replica;
  INSERT INTO charges (account_id, id, mode, status, amount, external_id, txid, br_code, client_name,
      client_email, client_doc, expires_at, connection_id)
    SELECT id, id, 'test', 'pending', 1000, id, id, '-', '-', '-', '-', now(), '${SIMULATOR_CONNECTION_ID}'
    FROM generate_series(1, 2000) AS n, LATERAL (SELECT
      ('0180a000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid AS id) given;
  INSERT INTO booked_payments (end_to_end_id, connection_id, account_id, subject_id)
    SELECT id, connection_id, account_id, id FROM charges;
  ANALYZE;
  DELETE FROM booked_payments;
  DELETE FROM charges`

/**
 * One account with many paid charges, of which a tenth are refunded, and a tenth as many withdrawals. The
 * ledger's tables have no statistics.
 */
const HISTORY = `
  SET session_replication_role = replica;
  INSERT INTO accounts (id, name) VALUES ('${ACCOUNT}', 'Padaria');
  CREATE TEMPORARY TABLE given AS
    SELECT n, lpad(to_hex(n), 12, '0') AS hex FROM generate_series(1, ${PAYMENTS}) AS n;
  INSERT INTO charges (account_id, id, mode, status, amount, external_id, txid, br_code, client_name,
      client_email, client_doc, expires_at, paid_at, end_to_end_id, connection_id, refunded_amount)
    SELECT '${ACCOUNT}', ('0190a000-0000-7000-8000-' || hex)::uuid, 'test', 'paid', 1000, hex, hex,
      '-', '-', '-', '-', now(), now(), 'E' || hex, '${SIMULATOR_CONNECTION_ID}',
      CASE WHEN n % 10 = 1 THEN 400 ELSE 0 END FROM given;
  INSERT INTO refunds (account_id, id, charge_id, mode, status, amount, completed_at)
    SELECT account_id, ('0190a000-0000-7000-a000-' || external_id)::uuid, id, mode, 'completed',
      refunded_amount, now() FROM charges WHERE refunded_amount > 0;
  INSERT INTO booked_payments (end_to_end_id, connection_id, account_id, subject_id)
    SELECT end_to_end_id, connection_id, account_id, id FROM charges;
  INSERT INTO withdrawals (account_id, id, mode, status, amount, pix_key_type, pix_key, dict_key,
      approved_at, connection_id)
    SELECT '${ACCOUNT}', ('0190a000-0000-7000-9000-' || hex)::uuid, 'test', 'approved', 1000, 'email',
      '-', '-', now(), '${SIMULATOR_CONNECTION_ID}' FROM given WHERE n % 10 = 0;
  INSERT INTO ledger_transfers (account_id, kind, subject_id, mode, debit, credit, amount, connection_id)
    SELECT account_id, 'charge_paid', id, mode, 'external', 'available', amount, connection_id FROM charges
    UNION ALL
    SELECT account_id, 'withdrawal_held', id, mode, 'available', 'outbound', amount, NULL FROM withdrawals
    UNION ALL
    SELECT account_id, 'withdrawal_sent', id, mode, 'outbound', 'external', amount, connection_id
    FROM withdrawals
    UNION ALL
    SELECT account_id, 'refund_held', id, mode, 'available', 'outbound', amount, NULL FROM refunds
    UNION ALL
    SELECT account_id, 'refund_sent', id, mode, 'outbound', 'external', amount,
      '${SIMULATOR_CONNECTION_ID}' FROM refunds;
  INSERT INTO ledger_entries (account_id, mode, ledger, version, kind, subject_id, amount, balance_after)
    SELECT account_id, mode, ledger, row_number() OVER w, kind, subject_id, amount, sum(amount) OVER w
    FROM (SELECT account_id, mode, debit AS ledger, kind, subject_id, -amount AS amount
        FROM ledger_transfers
      UNION ALL
      SELECT account_id, mode, credit, kind, subject_id, amount FROM ledger_transfers) e
    WINDOW w AS (PARTITION BY ledger ORDER BY kind, subject_id);
  INSERT INTO ledger_accounts (account_id, mode, ledger, balance, version)
    SELECT '${ACCOUNT}', mode, ledger, COALESCE(sum(e.amount), 0), count(e.version)
    FROM unnest(ARRAY['test', 'live']) AS mode
    CROSS JOIN unnest(ARRAY['available', 'outbound', 'external']) AS ledger
    LEFT JOIN ledger_entries e USING (mode, ledger) GROUP BY mode, ledger`

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
      for (const { invariant, violationSql } of INVARIANTS) {
        const { sql, values } = violationSql(accountScope(accountId))
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

test.for(servers)(
  `verification of ${PAYMENTS} payments of one account reads each a few times, on %s`,
  { timeout: 1_800_000 },
  async ([, open]) => {
    const url = await open()
    await query(url, ONE_CHARGE_EACH)
    await query(url, HISTORY)
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
