import { breaker, requestedPauseMs } from '#lib/banks/breaker.ts'
import type { ChargeState, Gateway } from '#lib/banks/gateway.ts'
import { withJournal } from '#lib/banks/record-call.ts'
import { ENVIRONMENTS } from '#lib/banks/schema.ts'
import { listServed, type ServedConnection } from '#lib/banks/served.ts'
import {
  type Closing,
  claimedSql,
  closeCharges,
  closeUnreported,
  nextQueryAt,
  postponeCharges,
  postponeUnreached,
  RETRY_PAUSE_MS,
  removeExpired,
} from '#lib/charges/close.ts'
import { cancelOpening } from '#lib/charges/create.ts'
import { receivePayments } from '#lib/charges/receive.ts'
import { Pool } from '#lib/core/concurrency.ts'
import { isDatabaseUnavailable } from '#lib/core/errors.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import { log } from '#lib/core/log.ts'
import { runBatch, runConcurrently } from '#lib/db/batch.ts'
import { type Claim, nowPlusMs, withLease } from '#lib/db/claim.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { wake } from '#lib/db/wake.ts'

const VERIFIED_BATCH_MAX = 250
/** Charges that need different calls, so that removing many delays no question about payments. */
const PENDING = Prisma.sql`r.status = 'pending'`
const OTHERS = Prisma.sql`r.status <> 'pending'`

/** Work on charges that calls a bank and is not awaited. */
interface Verifier {
  run: (connections: ServedConnection[]) => void
  /** Awaits the batches in progress. Returns how many charges were claimed since it was called last. */
  idle: () => Promise<number>
}

/**
 * Creates a verifier of due charges. A bank that hangs holds up one batch of its connection and kind.
 * `onCapacity` is called when a batch has ended.
 */
export function createVerifier(onCapacity = () => {}): Verifier {
  const batches = new Pool()
  let claimedCount = 0

  function start(
    { id, gateway }: ServedConnection,
    kind: Prisma.Sql,
    work: typeof queryAndEnd,
  ): void {
    const key = `${id} ${kind.text}`
    if (batches.free(key) === 0) return
    const verify = async () => {
      const limit = gateway.local ? VERIFIED_BATCH_MAX : await breaker.limit(id, VERIFIED_BATCH_MAX)
      const condition = Prisma.sql`r.connection_id = ${id}::uuid AND ${kind}`
      const batch = (due: Claim[]) => work(gateway, due)
      const count = limit === 0 ? 0 : await withLease('charges', limit, batch, { condition })
      claimedCount += count
      hasMore = count > 0
    }
    let hasMore = false
    batches
      .start(
        verify(),
        err => log().error({ err, connectionId: id }, 'verifying due charges failed'),
        key,
      )
      // A batch that found nothing frees nothing: the next poll looks again.
      .then(() => hasMore && onCapacity())
  }

  return {
    run(connections) {
      for (const connection of connections) {
        start(connection, PENDING, queryAndEnd)
        start(connection, OTHERS, endOthers)
      }
    },
    async idle() {
      await batches.idle()
      const count = claimedCount
      claimedCount = 0
      return count
    },
  }
}

/** Maximum charges of a batch removed concurrently. */
const CONCURRENCY_MAX = 8

/** Ends stuck openings, and removes expired charges at the bank, which until then may be paid. */
function endOthers(gateway: Gateway, due: Claim[]): Promise<void> {
  return runConcurrently(due, CONCURRENCY_MAX, async claim => {
    const work = claim.status === 'opening' ? cancelOpening : removeExpired
    await work(gateway, claim).catch(error => logFailure(error, claim))
  })
}

/** Settles, closes or postpones pending charges as the bank reports. */
export async function queryAndEnd(gateway: Gateway, due: Claim[]): Promise<void> {
  const isTimeUp = await findTimeUp(due)
  const result = await withJournal(gateway, due).getCharges(
    due.map(claim => removeHyphens(claim.id)),
  )
  if (result.outcome !== 'ok') {
    const pauseMs = Math.max(RETRY_PAUSE_MS, requestedPauseMs(result))
    return postponeCharges(due, nowPlusMs(pauseMs))
  }
  const { states, unanswered, retryAfterMs } = result.value
  const unreached = new Set(unanswered.filter(txid => !states.has(txid)))
  const reached = due.filter(claim => !unreached.has(removeHyphens(claim.id)))
  const left = due.filter(claim => !reached.includes(claim))
  await postponeUnreached(left, reached.length > 0, retryAfterMs)
  await endClaimedAsReported(gateway, reached, { states, isTimeUp })
}

/** Returns which of the claimed charges have expired by the clock of the database. */
async function findTimeUp(due: Claim[]): Promise<(claim: Claim) => boolean> {
  const rows = await db().$queryRaw<{ id: string }[]>`
    SELECT c.id FROM charges c JOIN ${claimedSql(due)} USING (account_id, id)
    WHERE c.expires_at <= now()`
  const ids = new Set(rows.map(({ id }) => id))
  return ({ id }) => ids.has(id)
}

/** Maximum due charges per read: each read also scans index entries of charges that have ended. */
const DUE_READ_MAX = 1_000
/**
 * Maximum charges per statement. 100 take the database 115 µs each instead of some 180, but occupy a core for 11 ms, for which
 * requests wait.
 */
const BATCH_MAX = 25

/**
 * Expires due charges. Of a gateway in this database, in bulk; a bank is queried first, so that a
 * payment without a notification is credited. Returns the number expired in bulk, with `rest` between
 * statements; a bank is not awaited.
 */
export async function expireDueCharges(verifier: Verifier, rest = async () => {}): Promise<number> {
  const served = await listServed(ENVIRONMENTS)
  verifier.run(served.filter(({ gateway }) => !gateway.local))
  let total = 0
  for (const connection of served.filter(({ gateway }) => gateway.local)) {
    const { due, ended } = await expireUnreported(connection, rest)
    if (due !== ended) verifier.run([connection])
    total += ended
  }
  return total
}

/** For gateways in this database: the statement itself checks that nothing was reported. */
async function expireUnreported(
  { id, gateway: { local } }: ServedConnection,
  rest: () => Promise<void>,
) {
  if (!local) return { due: 0, ended: 0 }
  const unreported = local.noStateReportedSql(Prisma.sql`c.id`)
  const due = await findDue(id)
  let ended = 0
  try {
    for (let from = 0; from < due.length; from += BATCH_MAX) {
      if (from > 0) await rest()
      ended += (await closeUnreported(due.slice(from, from + BATCH_MAX), unreported)).length
    }
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error
    log().warn({ err: error, due: due.length }, 'expiring charges in bulk failed, claiming each')
  }
  if (ended > 0) wake('deliveries')
  return { due: due.length, ended }
}

/** Sorts by account, so that one statement advances few event sequences. */
function findDue(connectionId: string): Promise<Closing[]> {
  return db().$queryRaw`
    SELECT account_id AS "accountId", id AS "chargeId", true AS "ifTimeUp" FROM (
      SELECT account_id, id FROM charges
      WHERE connection_id = ${connectionId}::uuid AND due_at <= now() ORDER BY due_at
      LIMIT ${Prisma.raw(`${DUE_READ_MAX}`)}) due
    ORDER BY account_id, id`
}

interface Report {
  states: Map<string, ChargeState>
  /** Whether the charge had expired before the bank was asked: only then does `open` end it. */
  isTimeUp: (claim: Claim) => boolean
}

/** Settles, closes or postpones claimed charges about which the bank was asked. */
async function endClaimedAsReported(
  gateway: Gateway,
  due: Claim[],
  { states, isTimeUp }: Report,
): Promise<void> {
  const open: Claim[] = []
  const ended = { paid: [] as PaidClaim[], failed: [] as Claim[], expired: [] as Claim[] }
  for (const claim of due) {
    const chargeState: ChargeState = states.get(removeHyphens(claim.id)) ?? { state: 'open' }
    if (chargeState.state === 'paid') ended.paid.push({ ...claim, ...chargeState })
    else if (chargeState.state === 'open') open.push(claim)
    else ended[chargeState.state === 'failed' ? 'failed' : 'expired'].push(claim)
  }
  const expire = (closings: Closing[]) =>
    closeCharges(closings, 'expired', gateway.local ? undefined : Prisma.sql`now()`)
  await endCharges(ended.paid, async paid => {
    const rows = await receivePayments(paid.map(claim => ({ ...claim, chargeId: claim.id })))
    // Without a payment of its amount, a charge stays as it is, and expires.
    open.push(...paid.filter((_, index) => rows[index] === null))
    return rows
  })
  await endCharges(ended.failed, claims => closeCharges(claims.map(toClosing), 'failed'))
  await endCharges(ended.expired, claims => expire(claims.map(toClosing)))
  const toExpiry = (claim: Claim) => ({ ...toClosing(claim), ifTimeUp: true })
  const processed = await endCharges(open.filter(isTimeUp), claims => expire(claims.map(toExpiry)))
  const waiting = open.filter(claim => !isTimeUp(claim))
  const nextAt = Prisma.sql`LEAST(c.expires_at, ${nextQueryAt(gateway.queryAgesMs)})`
  await postponeCharges([...processed, ...waiting], nextAt)
}

type PaidClaim = Claim & Extract<ChargeState, { state: 'paid' }>

function toClosing({ accountId, id, lease }: Claim) {
  return { accountId, chargeId: id, lease }
}

/** Returns the claims that succeeded; a claim that failed keeps its lease until it expires. */
async function endCharges<Item extends Claim>(
  due: Item[],
  end: (due: Item[]) => Promise<unknown[]>,
): Promise<Item[]> {
  if (due.length === 0) return []
  const outcomes = await runBatch(due, end)
  const failed = outcomes.map(
    (outcome, index) => [outcome.ok ? null : outcome.error, due[index] as Item] as const,
  )
  for (const [error, claim] of new Map(failed)) if (error) logFailure(error, claim)
  return due.filter((_, index) => outcomes[index]?.ok)
}

function logFailure(error: unknown, { id }: Claim): void {
  log().error({ err: error, chargeId: id }, 'verifying a due charge failed')
}
