import { type Database, Prisma, type Tx } from '#lib/db/client.ts'
import { INVARIANTS, type Scope, violationSql } from '#lib/ledger/invariants.ts'

export interface LedgerFinding {
  invariant: string
  violation: string | null
}

export interface Verification {
  transfers: number
  entries: number
  ledgers: number
  findings: LedgerFinding[]
}

/** Verifies all ledgers, or one account's, in one snapshot. Only reads: safe beside a server. */
export function verifyLedger(database: Database, accountId?: string): Promise<Verification> {
  return withSnapshot(database, tx => verifyAll(tx, accountId))
}

export function withSnapshot<T>(database: Database, read: (tx: Tx) => Promise<T>): Promise<T> {
  const readUnlimited = async (tx: Tx) => {
    // The limit of requests holds here, too, behind a pooler that refuses the pool's settings.
    await tx.$executeRaw`SET LOCAL statement_timeout = 0`
    return read(tx)
  }
  const options = { isolationLevel: 'RepeatableRead', timeout: 3_600_000 } as const
  return database.$transaction(readUnlimited, options)
}

async function verifyAll(tx: Tx, accountId?: string): Promise<Verification> {
  const { condition: accountCondition } = accountScope(accountId)
  const findings = await listFindings(tx, accountId)
  const [counts] = await tx.$queryRaw<{ transfers: bigint; entries: bigint; ledgers: bigint }[]>`
    SELECT (SELECT count(*) FROM ledger_transfers t WHERE ${accountCondition}) AS transfers,
      (SELECT count(*) FROM ledger_entries t WHERE ${accountCondition}) AS entries,
      (SELECT count(*) FROM ledger_accounts t WHERE ${accountCondition}) AS ledgers`
  return {
    transfers: Number(counts?.transfers),
    entries: Number(counts?.entries),
    ledgers: Number(counts?.ledgers),
    findings,
  }
}

/** Returns every invariant, each with its first violation or null. */
async function listFindings(tx: Tx, accountId?: string): Promise<LedgerFinding[]> {
  await limitPlans(tx)
  const findings: LedgerFinding[] = []
  for (const check of INVARIANTS) {
    const violation = await describeViolation(tx, violationSql(check, accountScope(accountId)))
    findings.push({ invariant: check.invariant, violation })
  }
  return findings
}

/** Runs the SQL of a violation. Null: there is none. */
export async function describeViolation(tx: Tx, sql: Prisma.Sql): Promise<string | null> {
  const [row] = await tx.$queryRaw<{ account_id: string; mode: string; place: string }[]>(sql)
  return row ? `account ${row.account_id}, ${row.mode}: ${row.place}` : null
}

/**
 * Leaves hash joins on the whole key only. Misled by statistics, PostgreSQL picks nested loops, or merges by
 * `account_id` alone and compares all rows of an account with each other (15: over 700 s for 106,000 payments).
 */
export async function limitPlans(tx: Tx): Promise<void> {
  await tx.$executeRaw`SET LOCAL enable_nestloop = off`
  await tx.$executeRaw`SET LOCAL enable_mergejoin = off`
  // The cost of what is disabled and still needed would start the compiler, for 0.2 s per check.
  await tx.$executeRaw`SET LOCAL jit = off`
}

/** All rows of an account, or of all. */
export function accountScope(accountId: string | undefined): Scope {
  const condition = accountId ? Prisma.sql`t.account_id = ${accountId}::uuid` : Prisma.sql`true`
  return { from: table => Prisma.raw(`${table} t`), condition }
}
