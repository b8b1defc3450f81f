import { connect, type Database, db } from '#lib/base/db/client.ts'
import { HOUSE_ACCOUNT_ID } from '#lib/base/ids.ts'
import { log } from '#lib/base/log.ts'
import { listFindings, withSnapshot } from '#lib/services/ledger/verify.ts'

const CHECK_INTERVAL = '1 hour'
/** Time limit of a run. A run starts each minute; remaining accounts wait for the next. */
const RUN_MAX_MS = 3_000
const DUE_MAX = 200

/** Uses its own connection: reading a large ledger takes longer than a request may. */
export async function checkLedgers(timeLimitMs = RUN_MAX_MS): Promise<number> {
  const due = await db().$queryRaw<{ id: string }[]>`
    SELECT a.id FROM (SELECT id FROM accounts UNION ALL SELECT ${HOUSE_ACCOUNT_ID}::uuid) a
    LEFT JOIN ledger_checks k ON k.account_id = a.id
    WHERE k.account_id IS NULL OR k.checked_at < now() - ${CHECK_INTERVAL}::interval
    ORDER BY k.checked_at NULLS FIRST, a.id LIMIT ${DUE_MAX}`
  if (due.length === 0) return 0
  const database = connect({ poolMax: 1 })
  const startedAt = performance.now()
  try {
    let checked = 0
    for (const { id } of due) {
      if (performance.now() - startedAt >= timeLimitMs) break
      const isChecked = await checkLedger(database, id).catch(error => {
        log().error({ err: error, accountId: id }, 'ledger check failed')
        return false
      })
      if (isChecked) checked += 1
    }
    return checked
  } finally {
    await database.$disconnect()
  }
}

/** Verifies one ledger and stores the result. Returns false if another worker is checking it. */
export async function checkLedger(database: Database, accountId: string): Promise<boolean> {
  const result = await withSnapshot(database, async tx => {
    // Limited to one core, to leave the others to requests, which are more urgent.
    await tx.$executeRaw`SET LOCAL max_parallel_workers_per_gather = 0`
    const [start] = await tx.$queryRaw<{ at: Date; locked: boolean }[]>`
      SELECT now() AS at,
        pg_try_advisory_xact_lock(hashtextextended('ledger check ' || ${accountId}, 0)) AS locked`
    if (!start?.locked) return null
    const broken = (await listFindings(tx, accountId)).find(
      ({ violation: wrong }) => wrong !== null,
    )
    return { at: start.at, broken }
  })
  if (!result) return false
  const { at, broken } = result
  const wrong = broken ? `${broken.invariant}: ${broken.violation}` : null
  await database.$executeRaw`
    INSERT INTO ledger_checks (account_id, checked_at, wrong)
    VALUES (${accountId}::uuid, ${at}, ${wrong})
    ON CONFLICT (account_id) DO UPDATE SET checked_at = excluded.checked_at, wrong = excluded.wrong
    WHERE ledger_checks.checked_at < excluded.checked_at`
  if (wrong) log().error({ accountId, wrong }, 'ledger is not balanced')
  return true
}
