import { readClosures } from '#lib/banks/closures.ts'
import { type EndingCertificate, listEndingCertificates } from '#lib/banks/connections.ts'
import { withConnectionJournal } from '#lib/banks/record-call.ts'
import { connectionName, listBanks, listServed, type ServedConnection } from '#lib/banks/served.ts'
import { env } from '#lib/core/settings.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/sql.ts'
import { accountSubjects } from '#lib/operator/accounts.ts'
import type { Finding } from '#lib/operator/schema.ts'
import type { FindingSubject } from '#lib/operator/states.ts'

const CALLS_MIN = 5
const SLOW_MS = 5_000
const HEALTH_TIMEOUT_MS = 2_000
const CHECK_VALID = '30 seconds'
const LATE_PAYOUT = '1 hour'

export async function examineGateways(): Promise<Finding[]> {
  const served = await Promise.all(
    (await listServed()).map(async connection =>
      (await examineGateway(connection)).map(finding => aboutBank(finding, connection)),
    ),
  )
  const unserved = (await listBanks()).filter(({ gateway }) => !gateway)
  const open = await findWithOpenRows(unserved.map(({ connection: { id } }) => id))
  const missing = unserved.flatMap(({ connection, isAssignable }): Finding[] => {
    const figures = { name: connection.name }
    if (open.has(connection.id))
      return [aboutBank({ level: 'problem', state: 'gateway_abandons', figures }, connection)]
    return isAssignable
      ? [aboutBank({ level: 'warning', state: 'gateway_missing', figures }, connection)]
      : []
  })
  return [...served.flat(), ...missing, ...(await examineClosures())]
}

/** Money out is closed after a restore, until the bank was read. */
async function examineClosures(): Promise<Finding[]> {
  return [...(await readClosures())].map(([id, closure]): Finding => {
    const { restoredTo, paymentsUntil, refundsUntil, payoutsUntil, unsettled, held } = closure
    const figures = {
      name: connectionName(id),
      restored_to: minuteText(restoredTo),
      unsettled,
      held,
      payments: minuteText(paymentsUntil),
      refunds: minuteText(refundsUntil),
      payouts: minuteText(payoutsUntil),
    }
    const state = closure.isUnlisted ? 'money_out_unlisted' : 'money_out_closed'
    return aboutBank({ level: 'problem', state, figures }, { id, name: figures.name })
  })
}

function aboutBank(finding: Finding, { id, name }: { id: string; name: string }): Finding {
  return { ...finding, subjects: [{ kind: 'bank', id, name }] }
}

/** Such as `2026-11-20 14:05 UTC`; `none` before a list was read. */
function minuteText(time: string | null): string {
  return time === null ? 'none' : `${time.slice(0, 16).replace('T', ' ')} UTC`
}

/** Returns which of the connections have a charge or an order that has not ended. */
async function findWithOpenRows(ids: string[]): Promise<Set<string>> {
  const hasOpen = (table: string) => Prisma.sql`EXISTS (
    SELECT FROM ${Prisma.raw(table)} r WHERE r.connection_id = n.id AND r.due_at IS NOT NULL)`
  const rows = await db().$queryRaw<{ id: string }[]>`
    SELECT n.id FROM unnest(${ids}::uuid[]) AS n (id)
    WHERE ${hasOpen('charges')} OR ${hasOpen('bank_orders')}`
  return new Set(rows.map(({ id }) => id))
}

interface Traffic {
  calls: number
  failed: number
  failed5: number
  p50_ms: number | null
  p95_ms: number | null
}

async function examineGateway(connection: ServedConnection): Promise<Finding[]> {
  const { id, name, gateway } = connection
  if (gateway.local) return [{ level: 'ok', state: 'gateway_simulated', figures: { name } }]
  const { rest_s, blocks } = await readState(id)
  const blocked = blocks.map((block): Finding => {
    return { level: 'problem', state: 'gateway_blocks', figures: { name, ...block } }
  })
  const others = [...blocked, ...(await examineLatePayouts(connection))]
  if (rest_s !== null)
    return [{ level: 'problem', state: 'gateway_rests', figures: { name, rest_s } }, ...others]
  const [isUp, traffic] = await Promise.all([isHealthy(connection), readTraffic(id)])
  return [judgeTraffic(name, isUp, traffic), ...others]
}

/** Warns of payouts that were sent an hour ago and have not ended: longer than a bank examines one. */
async function examineLatePayouts({ id, name }: ServedConnection): Promise<Finding[]> {
  const [late] = await queryRows<{ count: number; oldest_s: number | null }>(Prisma.sql`
    SELECT json_build_object('count', count(*),
      'oldest_s', extract(epoch FROM now() - min(o.sent_at))::int)::text AS json
    FROM bank_orders o WHERE o.connection_id = ${id}::uuid AND o.operation = 'payout' AND o.due_at IS NOT NULL
      AND o.sent_at < now() - ${LATE_PAYOUT}::interval`)
  if (!late?.count) return []
  const figures = { name, count: late.count, oldest_s: late.oldest_s ?? 0 }
  return [{ level: 'warning', state: 'payouts_late', figures }]
}

function judgeTraffic(name: string, isUp: boolean, traffic: Traffic): Finding {
  const { p50_ms, p95_ms, ...counts } = traffic
  const figures = { name, ...counts, p50_ms: p50_ms ?? 0, p95_ms: p95_ms ?? 0 }
  if (!isUp) return { level: 'problem', state: 'gateway_down', figures }
  if (counts.calls === 0) return { level: 'ok', state: 'gateway_quiet', figures }
  if (counts.calls >= CALLS_MIN && counts.failed / counts.calls >= FAILING_SHARE) {
    return { level: 'warning', state: 'gateway_fails', figures }
  }
  return figures.p95_ms > SLOW_MS
    ? { level: 'warning', state: 'gateway_slow', figures }
    : { level: 'ok', state: 'gateway_answers', figures }
}

export interface ConnectionHealth {
  /** Null: calls are made. */
  rest_s: number | null
  blocks: { operation: string; code: string; reason: string; since_s: number }[]
}

export async function readState(connectionId: string): Promise<ConnectionHealth> {
  const [state] = await queryRows<ConnectionHealth>(Prisma.sql`
    SELECT json_build_object('rest_s', extract(epoch FROM now() - opened_at)::int,
      'blocks', (SELECT COALESCE(json_agg(json_build_object('operation', key, 'code', value ->> 'code',
        'reason', value ->> 'reason', 'since_s', GREATEST(0,
          extract(epoch FROM now() - (value ->> 'since')::timestamptz)::int)) ORDER BY key), '[]')
        FROM jsonb_each(blocks)))::text AS json
    FROM connection_states WHERE connection_id = ${connectionId}::uuid`)
  return state ?? { rest_s: null, blocks: [] }
}

/** Asks the bank, unless it was asked lately: the page is read again every few seconds. */
async function isHealthy(connection: ServedConnection): Promise<boolean> {
  const [latest] = await db().$queryRaw<{ outcome: string }[]>`
    SELECT outcome FROM gateway_calls
    WHERE created_at > now() - ${CHECK_VALID}::interval AND outcome IS NOT NULL
      AND connection_id = ${connection.id}::uuid AND operation = 'checkHealth'
    ORDER BY created_at DESC LIMIT 1`
  if (latest) return latest.outcome === 'ok'
  const calls = withConnectionJournal(connection, { timeoutMs: HEALTH_TIMEOUT_MS })
  return (await calls.checkHealth()).outcome === 'ok'
}

/**
 * Counts the calls of the last hour except those of this page. A call without an outcome after 30 s counts as failed.
 * The latency is that of the others, which the bank answered.
 */
export async function readTraffic(connectionId: string): Promise<Traffic> {
  const failedCondition = Prisma.sql`(t.outcome IN ('retryable', 'unknown')
    OR t.outcome IS NULL AND t.created_at < now() - interval '30 seconds')`
  const latencySql = (part: number) => Prisma.sql`round(percentile_cont(${part}::float8)
    WITHIN GROUP (ORDER BY extract(epoch FROM t.finished_at - t.created_at) * 1000)
    FILTER (WHERE NOT ${failedCondition}))`
  const [traffic] = await queryRows<Traffic>(Prisma.sql`
    SELECT json_build_object('calls', count(*), 'failed', count(*) FILTER (WHERE ${failedCondition}),
      'failed5', count(*) FILTER (
        WHERE ${failedCondition} AND t.created_at > now() - interval '5 minutes'),
      'p50_ms', ${latencySql(0.5)},
      'p95_ms', ${latencySql(0.95)})::text AS json
    FROM (
      SELECT outcome, created_at, finished_at FROM gateway_calls
      WHERE created_at > now() - interval '1 hour'
        AND connection_id = ${connectionId}::uuid AND operation <> 'checkHealth'
      ORDER BY created_at DESC LIMIT ${ROWS_READ_MAX}) t`)
  return traffic ?? { calls: 0, failed: 0, failed5: 0, p50_ms: null, p95_ms: null }
}

/** A connection whose certificate has ended can make no call. One for homologation serves nobody. */
export async function examineCertificates(now = Date.now()): Promise<Finding[]> {
  const ending = await listEndingCertificates(now)
  if (ending.length === 0) return [{ level: 'ok', state: 'certificates_valid', figures: {} }]
  return ending.map(certificate => aboutBank(judgeCertificate(certificate, now), certificate))
}

function judgeCertificate({ name, endsAt, isAssignable }: EndingCertificate, now: number): Finding {
  const left_s = Math.round((endsAt.getTime() - now) / 1_000)
  if (left_s > 0) return { level: 'warning', state: 'certificate_ends', figures: { name, left_s } }
  const level = isAssignable ? 'problem' : 'warning'
  return { level, state: 'certificate_ended', figures: { name, since_s: -left_s } }
}

/** Maximum rows read per check: more take longer and give the same result. */
const ROWS_READ_MAX = 20_000
/** Minimum sample: fewer attempts say nothing about receivers in general. */
const ATTEMPTS_MIN = 10
const FAILING_NAMED_MAX = 5
/** Share of calls or attempts from which they count as failing. */
const FAILING_SHARE = 0.5

/** Judges by first attempts (stored body, indexed by time): dead receivers are retried often. */
export async function examineReceivers(): Promise<Finding> {
  const [figures] = await queryRows<Record<'tried' | 'failed' | 'failed5' | 'span_s', number>>(
    Prisma.sql`
      SELECT json_build_object('tried', count(*), 'failed', count(t.problem),
        'failed5', count(t.problem) FILTER (WHERE t.created_at > now() - interval '5 minutes'),
        'span_s', CASE WHEN count(*) < ${ROWS_READ_MAX}::int THEN 3600
          ELSE extract(epoch FROM now() - min(t.created_at))::int END)::text AS json
      FROM (
        SELECT created_at, problem FROM delivery_attempts
        WHERE created_at > now() - interval '1 hour' AND request_body IS NOT NULL
        ORDER BY created_at DESC LIMIT ${ROWS_READ_MAX}) t`,
  )
  if (!figures || figures.tried === 0) return { level: 'ok', state: 'receivers_quiet', figures: {} }
  const isFailing = figures.tried >= ATTEMPTS_MIN && figures.failed / figures.tried >= FAILING_SHARE
  if (!isFailing) return { level: 'ok', state: 'receivers_answer', figures }
  return { level: 'warning', state: 'receivers_fail', figures, subjects: await listFailing() }
}

/** Lists the accounts with most failed attempts in the last hour. */
async function listFailing(): Promise<FindingSubject[]> {
  const accounts = await queryRows<{ id: string; name: string }>(Prisma.sql`
    SELECT json_build_object('id', a.id, 'name', a.name)::text AS json
    FROM (SELECT account_id FROM delivery_attempts
      WHERE created_at > now() - interval '1 hour' AND request_body IS NOT NULL AND problem IS NOT NULL
      ORDER BY created_at DESC LIMIT ${ROWS_READ_MAX}) t JOIN accounts a ON a.id = t.account_id
    GROUP BY a.id ORDER BY count(*) DESC LIMIT ${FAILING_NAMED_MAX}`)
  return accountSubjects(accounts)
}

/** Checks that mails are sent. Sent mails leave no row, so the table is small. */
export async function examineMailServer(): Promise<Finding> {
  const { SMTP_URL, TROCO_ENV } = env()
  const [figures] = await queryRows<Record<'failed' | 'failed60' | 'failed5', number>>(Prisma.sql`
    SELECT json_build_object('failed', count(*),
      'failed60', count(*) FILTER (WHERE failed_at > now() - interval '1 hour'),
      'failed5', count(*) FILTER (WHERE failed_at > now() - interval '5 minutes'))::text AS json
    FROM (SELECT failed_at FROM mails WHERE failed_at IS NOT NULL LIMIT ${ROWS_READ_MAX}) t`)
  if (!SMTP_URL && TROCO_ENV === 'production') {
    return { level: 'warning', state: 'no_mail_server', figures: { ...figures } }
  }
  if (figures && figures.failed > 0) return { level: 'warning', state: 'mails_given_up', figures }
  return { level: 'ok', state: SMTP_URL ? 'mail_set' : 'mail_to_log', figures: {} }
}
