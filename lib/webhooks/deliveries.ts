import { refuse } from '#lib/core/errors.ts'
import { parseExactJson } from '#lib/core/exact-json.ts'
import { CLOCK_SKEW_MS, isUuid } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { maskTaxId, normalizeTaxId } from '#lib/core/pix/tax-id.ts'
import { db, Prisma, retryOnConflict, transaction } from '#lib/db/client.ts'
import { type Page, readPage, sqlIfDefined } from '#lib/db/page.ts'
import { asJson, queryRows, reasonColumns, utc } from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import type { Owner } from '#lib/webhooks/owner.ts'
import type { DeliveriesQuery, ResendRequest } from '#lib/webhooks/schema.ts'
import { type DeliveryStatus, matchEventTypes, NO_ENDPOINT } from '#lib/webhooks/states.ts'
import type { Attempt, Delivery, DeliveryDetail } from '#lib/webhooks/wire.ts'

const SEQUENCE_MAX = Number.MAX_SAFE_INTEGER
const CLOCK_SKEW = Prisma.sql`make_interval(secs => ${CLOCK_SKEW_MS / 1_000}::int)`

/** Computes the state of a delivery `d`. An index uses this exact expression. */
const statusSql = Prisma.sql`
  (CASE WHEN d.status = 'pending' AND d.due_at IS NULL THEN 'paused' ELSE d.status END)`

/** Matches deliveries `d`. Excludes delivered rows explicitly, as the index on the state does. */
export function statusCondition(...states: Exclude<DeliveryStatus, 'delivered'>[]): Prisma.Sql {
  return Prisma.sql`d.status <> 'delivered' AND ${statusSql} IN (${Prisma.join(states)})`
}

/**
 * Whether a delivery `d` is being sent: it is due, and a worker has its queue. Those that wait for a free
 * connection to their receiver count too, since no call is written down before it ends.
 */
export const isUnderWaySql = Prisma.sql`(d.status = 'pending' AND COALESCE(d.due_at <= now(), false)
  AND EXISTS (SELECT FROM delivery_queues q
    WHERE q.account_id = d.account_id AND q.lease IS NOT NULL AND q.due_at > now()))`

/** Columns of a delivery `d` joined with its event; `l` is its last attempt. */
const columns = Prisma.sql`
  d.id, d.event_id, d.type, d.sequence, d.subject_id, d.resource->>'external_id' AS subject_reference,
  d.endpoint_id, d.url, ${statusSql} AS status, n.is_under_way, d.attempts AS attempt_count,
  l.response_status AS last_response_status, l.problem AS last_problem,
  ${reasonColumns('l', 'problem', 'problem', 'last_problem')}, l.duration_ms AS last_duration_ms, ${utc('n.next_attempt_at')}, ${utc('d.delivered_at')},
  ${utc('d.created_at')}, ${utc('d.updated_at')}`
const deliveryAsJson = asJson(columns)
const deliveryWithAttemptCountAsJson = asJson(
  Prisma.sql`${columns}, d.attempts - d.attempts_before AS tried, d.resource->>'client_doc' AS document`,
)

const lateralJoins = Prisma.sql`
  CROSS JOIN LATERAL (
    SELECT u.is_under_way, CASE WHEN NOT u.is_under_way THEN d.due_at END AS next_attempt_at
    FROM (SELECT ${isUnderWaySql} AS is_under_way) u) n
  LEFT JOIN LATERAL (
    SELECT a.response_status, a.problem, a.problem_code, a.problem_params, a.duration_ms
    FROM delivery_attempts a
    WHERE a.account_id = d.account_id AND a.delivery_id = d.id
    ORDER BY a.number DESC LIMIT 1) l ON true`

/** List query, with the subject ids that its reference resolves to. */
type DeliveriesFilter = DeliveriesQuery & { subject_ids?: string[] }

export function listDeliveries(
  accountId: string,
  mode: Mode,
  query: DeliveriesFilter,
): Promise<Page<Delivery>> {
  const rows = Prisma.sql`
    SELECT ${deliveryAsJson}::text AS json FROM (
      SELECT d.*, e.type, e.resource FROM (${pageRowsSql(accountId, mode, query)}) d
      JOIN events e ON e.account_id = d.account_id AND e.id = d.event_id) d ${lateralJoins}
    ORDER BY d.sequence DESC, d.id DESC`
  return readPage(rows, query.limit, (last: Delivery) => `${last.sequence}.${last.id}`)
}

function pageRowsSql(accountId: string, mode: Mode, query: DeliveriesFilter): Prisma.Sql {
  const { type, cursor, limit } = query
  const conditions = Prisma.sql`d.account_id = ${accountId}::uuid AND d.mode = ${mode}
    ${filtersSql(query)} ${periodSql(accountId, mode, query)}`
  const newest = Prisma.sql`ORDER BY d.sequence DESC, d.id DESC LIMIT ${limit + 1}`
  if (!type) return Prisma.sql`SELECT d.* FROM deliveries d WHERE ${conditions} ${newest}`
  const sequence = cursor?.split('.')[0]
  // Reads each type separately from the cursor on, because a type may be rare among many events.
  const perType = matchEventTypes(type).map(
    eventType => Prisma.sql`(
      SELECT d.* FROM deliveries d JOIN events f
        ON f.account_id = d.account_id AND f.mode = d.mode AND f.sequence = d.sequence
        AND f.type = ${eventType} ${sqlIfDefined(sequence, Prisma.sql`AND f.sequence <= ${sequence}::bigint`)}
      WHERE ${conditions} ${newest})`,
  )
  return Prisma.sql`SELECT d.* FROM (${Prisma.join(perType, ' UNION ALL ')}) d ${newest}`
}

function filtersSql(query: DeliveriesFilter): Prisma.Sql {
  const { status } = query
  const [sequence, id] = query.cursor?.split('.') ?? []
  const state =
    status && (status === 'delivered' ? Prisma.sql`d.status = ${status}` : statusCondition(status))
  return Prisma.sql`
    ${sqlIfDefined(state, Prisma.sql`AND ${state}`)} ${endpointAndSubjectSql(query)}
    ${sqlIfDefined(sequence, Prisma.sql`AND (d.sequence, d.id) < (${sequence}::bigint, ${id}::uuid)`)}`
}

function endpointAndSubjectSql(
  query: Pick<DeliveriesFilter, 'endpoint_id' | 'subject_id' | 'subject_ids'>,
): Prisma.Sql {
  const { endpoint_id, subject_id, subject_ids } = query
  const endpoint =
    endpoint_id === NO_ENDPOINT
      ? Prisma.sql`AND d.endpoint_id IS NULL`
      : Prisma.sql`AND d.endpoint_id = ${endpoint_id}::uuid`
  return Prisma.sql`
    ${sqlIfDefined(endpoint_id, endpoint)}
    ${sqlIfDefined(subject_id, Prisma.sql`AND d.subject_id = ${subject_id}::uuid`)}
    ${sqlIfDefined(subject_ids, Prisma.sql`AND d.subject_id = ANY (${subject_ids}::uuid[])`)}`
}

/**
 * Translates a period into a sequence range. Events get their time under the sequence's lock, so
 * both have the same order unless the clock was changed.
 */
function periodSql(accountId: string, mode: Mode, query: DeliveriesQuery): Prisma.Sql {
  const { created_from: from, created_to: to } = query
  const events = Prisma.sql`
    SELECT e.sequence FROM events e
    WHERE e.account_id = ${accountId}::uuid AND e.mode = ${mode} AND e.created_at`
  const first = Prisma.sql`${events} < ${from}::timestamptz - ${CLOCK_SKEW}
    ORDER BY e.created_at DESC LIMIT 1`
  const last = Prisma.sql`${events} > ${to}::timestamptz + ${CLOCK_SKEW}
    ORDER BY e.created_at LIMIT 1`
  return Prisma.sql`
    ${sqlIfDefined(from, Prisma.sql`AND d.sequence >= COALESCE((${first}), 0)`)}
    ${sqlIfDefined(to, Prisma.sql`AND d.sequence <= COALESCE((${last}), ${SEQUENCE_MAX}::bigint)`)}
    ${sqlIfDefined(from, Prisma.sql`AND d.created_at >= ${from}::timestamptz`)}
    ${sqlIfDefined(to, Prisma.sql`AND d.created_at < ${to}::timestamptz`)}`
}

/**
 * Reads a delivery with all attempts. An attempt without a stored body sent the one before it.
 * Documents are hidden unless `showsDocuments`: for a token that may read them, or for a member after
 * the access was recorded.
 */
export async function readDelivery(
  accountId: string,
  mode: Mode,
  id: string,
  showsDocuments = false,
): Promise<DeliveryDetail> {
  const [row] = isUuid(id)
    ? await queryRows<Delivery & { tried: number; document: string | null }>(Prisma.sql`
        SELECT ${deliveryWithAttemptCountAsJson}::text AS json FROM (
          SELECT d.*, e.type, e.resource FROM deliveries d
          JOIN events e ON e.account_id = d.account_id AND e.id = d.event_id
          WHERE d.account_id = ${accountId}::uuid AND d.mode = ${mode} AND d.id = ${id}::uuid) d
          ${lateralJoins}`)
    : []
  if (!row) throw refuse('delivery_not_found')
  const { tried, document, ...delivery } = row
  const rows = await queryRows<Attempt & { created_at: string }>(Prisma.sql`
    SELECT ${attemptAsJson}::text AS json FROM delivery_attempts a
    WHERE a.account_id = ${accountId}::uuid AND a.delivery_id = ${id}::uuid ORDER BY a.number`)
  const is_masked = !showsDocuments && mayHaveSentDocument(rows, document)
  let request_body = rows.find(attempt => attempt.request_body !== null)?.request_body ?? null
  const attempts = rows.map(({ created_at: at, ...attempt }) => {
    request_body = attempt.request_body ?? request_body
    const shown = { ...attempt, at, request_body }
    return is_masked && document !== null ? hideDocument(shown, document) : shown
  })
  const target = delivery.endpoint_id === null ? 'resource' : 'endpoint'
  const later_pauses_s = delivery.status === 'pending' ? pausesAfterS(target, tried + 1) : []
  return { ...delivery, is_masked, attempts, later_pauses_s }
}

/**
 * Returns a delivery with the document, signatures and responses that are otherwise hidden, after
 * the access is committed to the audit log. A delivery that hides nothing needs no record.
 */
export async function revealDelivery(
  { accountId, mode, note }: Owner,
  id: string,
): Promise<DeliveryDetail> {
  const delivery = await readDelivery(accountId, mode, id)
  if (!delivery.is_masked) return delivery
  await transaction(tx =>
    note(tx, 'charge.document_revealed', delivery.subject_id, { after: { mode, delivery: id } }),
  )
  return readDelivery(accountId, mode, id, true)
}

const attemptAsJson = asJson(Prisma.sql`
  a.number, ${utc('a.created_at')}, a.response_status, a.problem, ${reasonColumns('a', 'problem')},
  a.address, a.duration_ms,
  a.request_headers, a.request_body, a.response_headers, a.response_body`)

interface Body {
  transaction?: { client_doc: string }
  client?: { doc: string }
}

/** Masks the document in a serialized event. A body without one stays as it is. */
export function maskBody(text: string): string {
  const body = parseExactJson(text) as Body
  const { transaction, client } = body
  if (!transaction) return text
  transaction.client_doc = maskTaxId(transaction.client_doc)
  if (client) client.doc = maskTaxId(client.doc)
  return JSON.stringify(body)
}

type Attempted = Pick<
  Attempt,
  'request_headers' | 'request_body' | 'response_body' | 'response_headers'
>

/**
 * Returns whether attempts may have sent a document in full. Every attempt starts from the body that
 * the first one stored, so only that body, already masked, proves that none did. It may be pruned.
 */
function mayHaveSentDocument(attempts: Attempted[], document: string | null): boolean {
  const [first] = attempts
  if (document === null || !first) return false
  return (
    first.request_body === null || maskText(first.request_body, document) !== first.request_body
  )
}

/**
 * Hides a document in what an attempt sent and received. The signature is removed, because it proves
 * a guess: the mask of a CPF leaves 1,000. So is the response, which may repeat the request encoded.
 */
function hideDocument<Row extends Attempted>(attempt: Row, document: string): Row {
  const { request_headers, request_body } = attempt
  const { 'webhook-signature': _, ...headers } = request_headers
  return {
    ...attempt,
    request_headers: headers,
    request_body: request_body && maskText(request_body, document),
    response_headers: null,
    response_body: null,
  }
}

/** Masks a document in a body, also in texts of the merchant that repeat it. */
function maskText(text: string, document: string): string {
  // Up to four characters between two digits, for punctuation.
  const anyNotation = new RegExp([...normalizeTaxId(document)].join('[^0-9A-Za-z]{0,4}'), 'gi')
  return maskBody(text).replaceAll(anyNotation, maskTaxId(document))
}

/** Maximum deliveries read, so that the cost does not grow with traffic. */
const SAMPLE_MAX = 1_000
const SAMPLE_AGE_MAX = '7 days'

/** Success share and mean duration; null without attempts. Excludes stopped deliveries. */
export async function readDeliveryRate(
  accountId: string,
  mode: Mode,
): Promise<{ delivered: number; mean_ms: number | null } | null> {
  const [counts] = await queryRows<{ arrived: number; tried: number; mean_ms: number | null }>(
    Prisma.sql`
    SELECT row_to_json(found)::text AS json FROM (
      SELECT count(*) FILTER (WHERE d.status = 'delivered') AS arrived, count(*) AS tried,
        round(avg(a.duration_ms) FILTER (WHERE d.status = 'delivered'))::int AS mean_ms
      FROM (
        SELECT d.account_id, d.id, d.status, d.created_at FROM deliveries d
        WHERE d.account_id = ${accountId}::uuid AND d.mode = ${mode}
        ORDER BY d.sequence DESC LIMIT ${SAMPLE_MAX}) d
      CROSS JOIN LATERAL (
        SELECT a.duration_ms FROM delivery_attempts a
        WHERE a.account_id = d.account_id AND a.delivery_id = d.id
        ORDER BY a.number DESC LIMIT 1) a
      WHERE d.created_at > now() - ${SAMPLE_AGE_MAX}::interval AND d.status <> 'stopped') found`,
  )
  if (!counts || counts.tried === 0) return null
  return { delivered: counts.arrived / counts.tried, mean_ms: counts.mean_ms }
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

const RESOURCE_PAUSES_MS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR]
const ENDPOINT_PAUSES_MS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE]

/** Jitter: receivers that failed together must not be retried together. */
const JITTER = 0.2

type Target = 'resource' | 'endpoint'

/** Returns the pauses in seconds, without jitter, after attempt `attempt` and each later one. */
function pausesAfterS(target: Target, attempt: number): number[] {
  return pausesOf(target)
    .slice(attempt - 1)
    .map(pauseMs => pauseMs / SECOND)
}

function pausesOf(target: Target): number[] {
  return target === 'endpoint' ? ENDPOINT_PAUSES_MS : RESOURCE_PAUSES_MS
}

/** Attempts count from 1; null after the last. A longer Retry-After of the receiver wins. */
export function nextPauseMs(
  target: Target,
  attempt: number,
  retryAfterMs: number | null,
): number | null {
  const pauseMs = pausesOf(target)[attempt - 1]
  if (pauseMs === undefined) return null
  const jittered = pauseMs * (1 + JITTER * (2 * Math.random() - 1))
  return Math.max(jittered, retryAfterMs ?? 0)
}

/** Maximum deliveries per request, so that it ends within its time limit. */
const RESEND_MAX = 20_000

/** Assignments that start a new round of attempts: earlier attempts no longer count. */
const newRoundAssignments = Prisma.sql`status = 'pending', due_at = now(), delivered_at = NULL,
  attempts_before = d.attempts`

interface ResendState {
  status: string
  isUnderWay: boolean
  isDisabled: boolean
  isDeleted: boolean
}

/**
 * Resends a delivery now, even before its due time, with the same body and webhook-id. `isResumed`: an
 * earlier process died during this request and may have begun the sending that is under way.
 */
export async function resendDelivery(
  { accountId, mode, note }: Owner,
  id: string,
  isResumed = false,
): Promise<void> {
  await transaction(async tx => {
    const [state] = isUuid(id)
      ? await tx.$queryRaw<ResendState[]>`
          SELECT d.status, ${isUnderWaySql} AS "isUnderWay",
            p.disabled_at IS NOT NULL AS "isDisabled", p.deleted_at IS NOT NULL AS "isDeleted"
          FROM deliveries d LEFT JOIN webhook_endpoints p
            ON p.account_id = d.account_id AND p.id = d.endpoint_id
          WHERE d.account_id = ${accountId}::uuid AND d.mode = ${mode} AND d.id = ${id}::uuid
          FOR UPDATE OF d`
      : []
    if (!state) throw refuse('delivery_not_found')
    if (isResumed && state.isUnderWay) return
    requireSendable(state)
    const change = state.status === 'pending' ? Prisma.sql`due_at = now()` : newRoundAssignments
    await tx.$executeRaw`
      UPDATE deliveries d SET ${change}, updated_at = now()
      WHERE d.account_id = ${accountId}::uuid AND d.id = ${id}::uuid`
    await note(tx, 'webhook_delivery.resent', id, { after: { mode } })
  })
  wake('deliveries')
}

async function requireEnabledEndpoint(accountId: string, mode: Mode, id: string): Promise<void> {
  const endpoint = await db().webhookEndpoint.findFirst({ where: { accountId, mode, id } })
  if (!endpoint) throw refuse('endpoint_not_found')
  const isDisabled = endpoint.disabledAt !== null
  requireSendable({ isDeleted: endpoint.deletedAt !== null, isDisabled, isUnderWay: false })
}

function requireSendable({ isDeleted, isDisabled, isUnderWay }: Omit<ResendState, 'status'>): void {
  if (isDeleted || isDisabled)
    throw refuse(
      'endpoint_disabled',
      'The endpoint is disabled or deleted: enable it, or create another',
    )
  if (isUnderWay)
    throw refuse(
      'under_way',
      'The delivery is being sent, or waits for its receiver: try again when it has ended',
    )
}

/** Resend request, with the subject ids that its reference resolves to. */
type FailedDeliveriesFilter = ResendRequest & { subject_ids?: string[] }

/** Skips disabled and deleted endpoints. `more`: the limit was reached, so more may remain. */
export async function resendFailed(
  { accountId, mode, note }: Owner,
  filter: FailedDeliveriesFilter,
): Promise<{ resent: number; more: boolean }> {
  const { endpoint_id } = filter
  if (endpoint_id && endpoint_id !== NO_ENDPOINT) {
    await requireEnabledEndpoint(accountId, mode, endpoint_id)
  }
  const { from: created_from, to: created_to = null, type = null } = filter
  const after = { mode, created_from, created_to, type }
  await transaction(tx => note(tx, 'webhook_delivery.resent', endpoint_id ?? accountId, { after }))
  const resent = await updateDeliveries(
    failedCondition(accountId, mode, filter),
    newRoundAssignments,
    RESEND_MAX,
  )
  if (resent > 0) wake('deliveries')
  return { resent, more: resent >= RESEND_MAX }
}

export async function countFailed(
  accountId: string,
  mode: Mode,
  filter: FailedDeliveriesFilter,
): Promise<number> {
  const [{ failed } = { failed: 0n }] = await db().$queryRaw<{ failed: bigint }[]>`
    SELECT count(*) AS failed FROM (
      SELECT 1 FROM deliveries d WHERE ${failedCondition(accountId, mode, filter)} LIMIT ${RESEND_MAX}) t`
  return Number(failed)
}

function failedCondition(
  accountId: string,
  mode: Mode,
  filter: FailedDeliveriesFilter,
): Prisma.Sql {
  const { from, to = new Date().toISOString(), status, type } = filter
  const typeCondition = type
    ? Prisma.sql`AND EXISTS (
        SELECT 1 FROM events e WHERE e.account_id = d.account_id AND e.id = d.event_id
          AND e.type = ANY (${matchEventTypes(type)}::text[]))`
    : Prisma.empty
  return Prisma.sql`d.account_id = ${accountId}::uuid AND d.mode = ${mode}
    AND ${status ? statusCondition(status) : statusCondition('exhausted', 'stopped')}
    AND d.created_at >= ${from}::timestamptz AND d.created_at < ${to}::timestamptz
    ${endpointAndSubjectSql(filter)} ${typeCondition}
    AND NOT EXISTS (
      SELECT 1 FROM webhook_endpoints p
      WHERE p.account_id = d.account_id AND p.id = d.endpoint_id AND p.disabled_at IS NOT NULL)`
}

/** Rows per statement: stays far below the statement timeout even on a slow disk. */
const BATCH_SIZE = 1_000

/** Changes each matching delivery `d` once, in event order. Each batch commits separately. */
export async function updateDeliveries(
  condition: Prisma.Sql,
  assignments: Prisma.Sql,
  limit = Number.POSITIVE_INFINITY,
): Promise<number> {
  let changed = 0
  let after = Prisma.empty
  while (changed < limit) {
    const rows = await retryOnConflict(
      () => db().$queryRaw<{ sequence: bigint; id: string }[]>`
        WITH chosen AS MATERIALIZED (
          SELECT d.account_id, d.id FROM deliveries d
          WHERE ${condition} ${after}
          ORDER BY d.sequence, d.id LIMIT ${Math.min(BATCH_SIZE, limit - changed)}
          FOR UPDATE
        ), changed AS (
          UPDATE deliveries d SET ${assignments}, updated_at = now() FROM chosen c
          WHERE d.account_id = c.account_id AND d.id = c.id
          RETURNING d.sequence, d.id
        )
        SELECT sequence, id FROM changed ORDER BY sequence, id`,
    )
    const last = rows.at(-1)
    if (!last) break
    changed += rows.length
    after = Prisma.sql`AND (d.sequence, d.id) > (${last.sequence}::bigint, ${last.id}::uuid)`
  }
  return changed
}
