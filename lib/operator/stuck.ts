import { readPeople } from '#lib/audit/queries.ts'
import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { isTrocoError, refuse, type TrocoError } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db, Prisma, type Tx, transaction } from '#lib/db/client.ts'
import { asJson, queryRows, reasonColumns, utcText } from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import { JOB_KINDS, type JobKind, type OrderEnding, type StuckJob } from '#lib/operator/schema.ts'
import type { RequeueRequest } from '#lib/operator/wire.ts'
import { endableSql } from '#lib/orders/end.ts'
import { findOrder, isEndProposed, isOpen } from '#lib/orders/order.ts'
import { isSecondAdmin, PROPOSAL_HOURS } from '#lib/people/approvers.ts'
import { resendDelivery } from '#lib/webhooks/deliveries.ts'

/** Attempts from which a job counts as stuck: after so many it rarely recovers by itself. */
const STUCK_ATTEMPTS_MIN = 5
/** Age from which an unsettled order counts as stuck: people wait for the money. */
const UNSETTLED_AFTER = Prisma.sql`interval '15 minutes'`
const EXHAUSTED_WITHIN = Prisma.sql`interval '7 days'`
/** Maximum due rows read; further rows are found after these have ended. */
const ROWS_READ_MAX = 2_000

export async function listStuckJobs(limit: number): Promise<StuckJob[]> {
  const jobs: StuckJob[] = []
  for (const kind of JOB_KINDS) {
    if (jobs.length < limit) jobs.push(...(await listStuckJobsOfKind(kind, limit - jobs.length)))
  }
  return jobs
}

const COUNTED_MAX = 1_000

export async function countStuckJobs(kind: JobKind): Promise<number> {
  const [found] = await db().$queryRaw<{ count: number }[]>`
    SELECT count(*)::int AS count FROM (${stuckSql[kind]} LIMIT ${COUNTED_MAX}) j`
  return found?.count ?? 0
}

/** A mail belongs to no account. */
export function listStuckJobsOfKind(kind: JobKind, limit: number): Promise<StuckJob[]> {
  const account =
    kind === 'mail'
      ? Prisma.sql`NULL::json`
      : Prisma.sql`(SELECT json_build_object('id', a.id, 'name', a.name)
          FROM accounts a WHERE a.id = j.account_id)`
  return queryRows<StuckJob>(Prisma.sql`
    SELECT json_build_object('kind', ${kind}::text, 'id', j.id, 'account', ${account},
      'attempts', j.attempts, 'created_at', ${utcText('j.created_at')},
      'due_at', ${utcText('j.due_at')}, 'is_held', j.is_held, 'can_run', j.can_run,
      'problem', l.problem, 'problem_code', l.problem_code,
      'problem_params', l.problem_params)::text AS json
    FROM (${stuckSql[kind]} LIMIT ${limit}) j
    LEFT JOIN LATERAL (${lastProblem[kind]}) l ON true
    ORDER BY j.created_at, j.id`)
}

const heldCondition = Prisma.sql`j.lease IS NOT NULL AND j.due_at > now()`

/** Reads orders by due time: only those that have not ended have one, so the index is small. */
function unsettledSql(kind: 'withdrawal' | 'refund' | 'return'): Prisma.Sql {
  return Prisma.sql`
    SELECT j.account_id, j.id, j.attempts, j.created_at, j.due_at, ${heldCondition} AS is_held,
      true AS can_run
    FROM (SELECT * FROM bank_orders WHERE kind = ${kind} AND due_at IS NOT NULL
      ORDER BY due_at LIMIT ${ROWS_READ_MAX}) j
    WHERE j.created_at < now() - ${UNSETTLED_AFTER} OR j.attempts >= ${STUCK_ATTEMPTS_MIN}
      AND (j.lease IS NOT NULL OR j.due_at <= now())
    ORDER BY j.created_at`
}

const stuckSql: Record<JobKind, Prisma.Sql> = {
  withdrawal: unsettledSql('withdrawal'),
  refund: unsettledSql('refund'),
  return: unsettledSql('return'),
  charge: Prisma.sql`
    SELECT j.account_id, j.id, j.attempts, j.created_at, j.due_at, ${heldCondition} AS is_held,
      true AS can_run
    FROM (
      (SELECT c.* FROM connections n CROSS JOIN LATERAL (
        SELECT * FROM charges WHERE connection_id = n.id AND due_at <= now()
        ORDER BY due_at LIMIT ${ROWS_READ_MAX}) c)
      UNION ALL
      (SELECT * FROM charges WHERE lease IS NOT NULL AND due_at > now()
        LIMIT ${ROWS_READ_MAX})) j
    WHERE j.attempts >= ${STUCK_ATTEMPTS_MIN} ORDER BY j.created_at`,
  // Loose index scan over accounts with undelivered rows; reads the latest 5 of each.
  delivery: Prisma.sql`
    SELECT j.account_id, j.id, j.attempts, j.created_at, j.due_at, false AS is_held,
      j.can_run
    FROM (
      WITH RECURSIVE owners AS (
        (SELECT d.account_id, d.mode FROM deliveries d WHERE d.status <> 'delivered'
          ORDER BY d.account_id, d.mode LIMIT 1)
        UNION ALL
        SELECT n.account_id, n.mode FROM owners o CROSS JOIN LATERAL (
          SELECT d.account_id, d.mode FROM deliveries d
          WHERE d.status <> 'delivered' AND (d.account_id, d.mode) > (o.account_id, o.mode)
          ORDER BY d.account_id, d.mode LIMIT 1) n
      )
      SELECT l.* FROM (SELECT * FROM owners LIMIT ${ROWS_READ_MAX}) o CROSS JOIN LATERAL (
        SELECT d.account_id, d.id, d.attempts, d.created_at, d.due_at, d.updated_at,
          p.disabled_at IS NULL AS can_run
        FROM deliveries d LEFT JOIN webhook_endpoints p
          ON p.account_id = d.account_id AND p.id = d.endpoint_id
        WHERE d.account_id = o.account_id AND d.mode = o.mode AND d.status <> 'delivered'
          AND (CASE WHEN d.status = 'pending' AND d.due_at IS NULL THEN 'paused' ELSE d.status END)
            = 'exhausted'
        ORDER BY d.sequence DESC LIMIT 5) l) j
    WHERE j.updated_at > now() - ${EXHAUSTED_WITHIN} ORDER BY j.updated_at DESC`,
  mail: Prisma.sql`
    SELECT NULL::uuid AS account_id, j.id, j.attempts, j.created_at, j.due_at,
      COALESCE(${heldCondition}, false) AS is_held,
      j.failed_at IS NULL AS can_run
    FROM mails j WHERE j.attempts >= ${STUCK_ATTEMPTS_MIN} OR j.failed_at IS NOT NULL
    ORDER BY j.created_at`,
}

const bankText = Prisma.sql`COALESCE(g.response ->> 'bankText', g.response ->> 'reason')`
/** Calls of a bank about a row, the latest first; that the bank does not have an order says less than its refusal of it. */
const callsSql = (row: 'j' | 'o') => Prisma.sql`gateway_calls g
  WHERE g.account_id = ${Prisma.raw(row)}.account_id AND g.subject_id = ${Prisma.raw(row)}.id
  ORDER BY g.outcome = 'ok' AND g.response::text = 'null', g.id DESC`
const lastCall = Prisma.sql`
  SELECT COALESCE(${bankText}, g.outcome, 'no answer yet') AS problem,
    CASE WHEN g.response ->> 'code' = 'timeout' THEN 'call_timeout'
      WHEN ${bankText} IS NOT NULL THEN 'call_reason'
      WHEN g.outcome IS NULL THEN 'call_open' ELSE 'call_ok' END AS problem_code,
    json_build_object('text', COALESCE(${bankText}, '')) AS problem_params
  FROM ${callsSql('j')} LIMIT 1`

/** What the bank said last about an order, in its own words; null: nothing. */
export const lastWordsSql = (row: 'o') =>
  Prisma.sql`SELECT ${bankText} FROM ${callsSql(row)} LIMIT 1`

const lastProblem: Record<JobKind, Prisma.Sql> = {
  withdrawal: lastCall,
  refund: lastCall,
  return: lastCall,
  charge: lastCall,
  delivery: Prisma.sql`
    SELECT COALESCE(a.problem, a.response_status::text) AS problem, ${reasonColumns('a', 'problem')}
    FROM delivery_attempts a
    WHERE a.account_id = j.account_id AND a.delivery_id = j.id ORDER BY a.number DESC LIMIT 1`,
  mail: Prisma.sql`
    SELECT NULL::text AS problem, NULL::text AS problem_code, NULL::json AS problem_params`,
}

/** Maximum jobs per request: more would exceed its time limit; the operator can repeat it. */
const JOBS_MAX = 200

export async function requeueJobs(
  { kind, account_id, id }: RequeueRequest,
  actor: Actor,
): Promise<number> {
  if (id !== undefined) {
    await requeueOne(kind, account_id ?? null, id, actor)
    return 1
  }
  let requeued = 0
  for (const job of await listStuckJobsOfKind(kind, JOBS_MAX)) {
    if (!job.can_run || job.is_held) continue
    // A job that ended or was claimed meanwhile needs no requeue.
    const isRequeued = await requeueOne(kind, job.account?.id ?? null, job.id, actor).then(
      () => true,
      error => {
        if (isTrocoError(error)) return false
        throw error
      },
    )
    if (isRequeued) requeued += 1
  }
  return requeued
}

/**
 * Makes a job due now and clears an expired lease. Id and attempts stay the same, so the worker
 * queries the bank for this id before it sends again. Refuses a job that a worker or a request is
 * processing.
 */
async function requeueOne(
  kind: JobKind,
  accountId: string | null,
  id: string,
  actor: Actor,
): Promise<void> {
  if (kind === 'mail') return requeueMail(id, actor)
  if (accountId === null) throw notFound()
  if (kind === 'delivery') return requeueDelivery(accountId, id, actor)
  const isCharge = kind === 'charge'
  const table = Prisma.raw(isCharge ? 'charges' : 'bank_orders')
  const isOpening = Prisma.raw(isCharge ? "status = 'opening'" : 'false')
  await transaction(async tx => {
    const rowCondition = Prisma.sql`account_id = ${accountId}::uuid AND id = ${id}::uuid`
    const [job] = await tx.$queryRaw<{ attempts: number; isHeld: boolean }[]>`
      SELECT attempts, due_at > now() AND (lease IS NOT NULL OR ${isOpening}) AS "isHeld"
      FROM ${table} WHERE ${rowCondition} AND due_at IS NOT NULL FOR UPDATE`
    requireUnclaimed(job)
    await tx.$executeRaw`
      UPDATE ${table} SET due_at = now(), lease = NULL WHERE ${rowCondition}`
    await recordRequeue(tx, { kind, accountId, id, attempts: job?.attempts ?? 0 }, actor)
  })
  wake(isCharge ? 'charges' : 'orders')
}

async function requeueMail(id: string, actor: Actor): Promise<void> {
  await transaction(async tx => {
    const [job] = await tx.$queryRaw<{ attempts: number; isHeld: boolean }[]>`
      SELECT attempts, due_at > now() AND lease IS NOT NULL AS "isHeld"
      FROM mails WHERE id = ${id}::uuid AND due_at IS NOT NULL FOR UPDATE`
    requireUnclaimed(job)
    await tx.$executeRaw`UPDATE mails SET due_at = now(), lease = NULL WHERE id = ${id}::uuid`
    await recordRequeue(tx, { kind: 'mail', id, attempts: job?.attempts ?? 0 }, actor)
  })
}

/** Starts a new round of attempts for a delivery that was given up, as a merchant's resend does. */
async function requeueDelivery(accountId: string, id: string, actor: Actor): Promise<void> {
  const found = await db().delivery.findUnique({ where: { accountId_id: { accountId, id } } })
  if (!found || found.status === 'delivered') throw notFound()
  const { attempts, mode } = found
  const owner = {
    accountId,
    mode: mode as Mode,
    note: (tx: Tx) => recordRequeue(tx, { kind: 'delivery', accountId, id, attempts }, actor),
  }
  await resendDelivery(owner, id)
}

function requireUnclaimed(job: { isHeld: boolean } | undefined): void {
  if (!job) throw notFound()
  if (job.isHeld)
    throw refuse('under_way', 'A worker is running this job: try again when it has finished')
}

interface RequeuedJob {
  kind: JobKind
  accountId?: string
  id: string
  attempts: number
}

function recordRequeue(
  tx: Tx,
  { kind, accountId, id, attempts }: RequeuedJob,
  actor: Actor,
): Promise<void> {
  const entry = { actor, action: 'job.requeued', accountId, target: id }
  return recordAudit(tx, { ...entry, after: { kind, attempts } })
}

function notFound(): TrocoError {
  return refuse('job_not_found')
}

interface EndingRow
  extends Pick<OrderEnding, 'kind' | 'can_propose' | 'bank_text' | 'ended_at' | 'contradiction'> {
  id: string
  outcome: OrderEnding['outcome']
  reason: string | null
  proposed_by: string | null
  confirmed_by: string | null
  expires_at: string
  is_standing: boolean
}

const columns = Prisma.sql`o.kind, ${endableSql} AS can_propose,
  CASE WHEN ${isOpen} THEN (${lastWordsSql('o')}) END AS bank_text,
  o.end_id AS id, o.end_outcome AS outcome,
  o.end_reason AS reason, o.end_proposed_by AS proposed_by, o.end_confirmed_by AS confirmed_by,
  ${utcText(`(o.end_proposed_at + interval '${PROPOSAL_HOURS} hours')`)} AS expires_at,
  ${utcText('o.ended_at')} AS ended_at, o.contradiction,
  (o.ended_at IS NULL AND ${isOpen} AND ${isEndProposed}) AS is_standing`

/** Reads how a live order can be ended, or was; null for any other. */
export async function readEnding(id: string, adminId: string): Promise<OrderEnding | null> {
  const order = isUuid(id) ? await findOrder(id) : null
  const [row] = order
    ? await queryRows<EndingRow>(Prisma.sql`
        SELECT ${asJson(columns)}::text AS json FROM bank_orders o
        WHERE o.account_id = ${order.accountId}::uuid AND o.id = ${id}::uuid AND o.mode = 'live'`)
    : []
  if (!row) return null
  const { proposed_by: first, confirmed_by: second, ...ending } = row
  const findPerson = await readPeople([first, second].map(person => [null, person]))
  const nameOf = (person: string | null) => findPerson(null, person)?.name ?? null
  const { kind, can_propose, bank_text, outcome, reason, ended_at, contradiction } = ending
  const canConfirm = first !== null && (await isSecondAdmin(first, adminId))
  return {
    id,
    kind,
    can_propose,
    bank_text,
    ended_at,
    contradiction,
    ...(ended_at !== null || ending.is_standing
      ? { outcome, reason, proposed_by: nameOf(first), confirmed_by: nameOf(second) }
      : { outcome: null, reason: null, proposed_by: null, confirmed_by: null }),
    proposal: ending.is_standing
      ? { id: ending.id, expires_at: ending.expires_at, can_confirm: canConfirm }
      : null,
  }
}
