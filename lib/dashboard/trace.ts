import { isUuid, removeHyphens, smallestIdAt } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import type { Trace, TraceStep } from '#lib/dashboard/schema.ts'
import { Prisma } from '#lib/db/client.ts'
import { asJson, isInBucket, queryRows, requestIdOf, utc, utcText } from '#lib/db/sql.ts'

/** Steps of each kind: more than any charge has by itself. */
const STEPS_MAX = 200
/** A request is logged after its response, and its client's clock does not matter. */
const BEFORE_MS = 60_000

export interface TraceScope {
  accountId: string
  mode: Mode
}

type Subject = NonNullable<Trace['subject']> & { created_at: string }
type Step = TraceStep & { makes: string | null }

/** Reads the trace of a charge with its refunds, or of a withdrawal; null if the id is neither. */
export async function readTrace(scope: TraceScope, id: string): Promise<Trace | null> {
  const subject = await findSubject(scope, id)
  if (!subject) return null
  const steps = await readSteps(scope, subject)
  return buildTrace(scope, subject, steps)
}

/**
 * Reads what the request with this id did: of the traces of its charges and withdrawals the steps that it
 * caused. Empty if nothing is known of it: a request is logged for 7 days, and a busy account's not always.
 */
export async function readRequestTraces(scope: TraceScope, requestId: string): Promise<Trace[]> {
  const [requests, subjects] = await Promise.all([
    queryRows<Step>(requestsSql(scope, Prisma.sql`r.request_id = ${requestId}`)),
    findSubjects(scope, requestId),
  ])
  const traces = await Promise.all(subjects.map(id => readTrace(scope, id)))
  const found = traces
    .flatMap(trace => trace ?? [])
    .map(trace => {
      const others = requests.filter(({ id }) => trace.steps.every(step => step.id !== id))
      const caused = trace.steps.filter(({ request_id }) => request_id === requestId)
      return { ...trace, steps: [...others.map(omitMakes), ...caused].toSorted(byTime) }
    })
  if (found.length > 0 || requests.length === 0) return found
  return [buildTrace(scope, null, requests)]
}

function buildTrace(
  { accountId, mode }: TraceScope,
  subject: Subject | null,
  steps: Step[],
): Trace {
  const requests = steps.filter(({ what }) => what === 'request')
  const creator = (step: Step) => requests.find(({ makes }) => makes === step.id)?.request_id
  const caused = steps.map(step => ({
    ...step,
    request_id: step.request_id ?? creator(step) ?? findCaller(step, requests),
  }))
  return {
    account_id: accountId,
    mode,
    subject: subject && { kind: subject.kind, id: subject.id },
    steps: caused.map(omitMakes).toSorted(byTime),
  }
}

/** A call of a bank about a charge was made by the request during which it began, if one did. */
function findCaller({ what, at }: Step, requests: Step[]): string | null {
  if (what !== 'bank_call') return null
  const began = Date.parse(at)
  const caller = requests.find(request => {
    const from = Date.parse(request.at)
    return began >= from && began <= from + (request.duration_ms ?? 0)
  })
  return caller?.request_id ?? null
}

function omitMakes({ makes: _makes, ...step }: Step): TraceStep {
  return step
}

/** Equal times keep the order of their kinds: the cause first. */
function byTime(one: TraceStep, other: TraceStep): number {
  return one.at === other.at ? 0 : one.at < other.at ? -1 : 1
}

async function findSubject({ accountId, mode }: TraceScope, id: string): Promise<Subject | null> {
  const select = (kind: Subject['kind'], from: string, condition: Prisma.Sql) => Prisma.sql`
    SELECT json_build_object('kind', ${kind}::text, 'id', s.id, 'created_at', ${utcText('s.created_at')})::text AS json
    FROM ${Prisma.raw(from)} s WHERE s.account_id = ${accountId}::uuid AND s.mode = ${mode} AND ${condition}`
  const [subject] = await queryRows<Subject>(Prisma.sql`
    ${select(
      'charge',
      'charges',
      Prisma.sql`(s.id = ${id}::uuid OR s.id = (SELECT r.charge_id
      FROM refunds r WHERE r.account_id = ${accountId}::uuid AND r.id = ${id}::uuid))`,
    )}
    UNION ALL ${select('withdrawal', 'withdrawals', Prisma.sql`s.id = ${id}::uuid`)}`)
  return subject ?? null
}

/** Returns the ids that a request names or made, and those of the events that it caused. */
async function findSubjects({ accountId, mode }: TraceScope, requestId: string): Promise<string[]> {
  return queryRows<string>(Prisma.sql`
    SELECT DISTINCT to_json(f.id)::text AS json FROM (
      (SELECT COALESCE(r.resource_id::text, ${madeSql}) AS id FROM request_log r
        WHERE r.account_id = ${accountId}::uuid AND r.mode = ${mode} AND r.request_id = ${requestId}
        LIMIT ${STEPS_MAX})
      UNION ALL
      (SELECT e.subject_id::text FROM events e
        WHERE e.account_id = ${accountId}::uuid AND e.mode = ${mode}
          AND e.trace IS NOT NULL AND ${requestIdOf('e')} = ${requestId}
        LIMIT ${STEPS_MAX})) f
    WHERE f.id ~ '^[0-9a-f]{8}-' LIMIT 20`)
}

/** What a request made, by its response. */
const madeSql = Prisma.sql`COALESCE(r.response_body #>> '{data,transaction_id}', r.response_body #>> '{data,id}')`
const causeSql = (alias: string) => Prisma.sql`
  ${requestIdOf(alias)} AS request_id, left(${Prisma.raw(alias)}.trace, 32) AS trace_id`

function stepSql(columns: Prisma.Sql, from: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`SELECT ${asJson(columns)}::text AS json FROM ${from} LIMIT ${STEPS_MAX}`
}

function requestsSql({ accountId, mode }: TraceScope, condition: Prisma.Sql): Prisma.Sql {
  const began = '(r.created_at - make_interval(secs => r.duration_us / 1e6))'
  return stepSql(
    Prisma.sql`'request' AS what, ${utc(began, 'at')}, r.id, r.method || ' ' || r.path AS name,
      concat_ws(' ', r.status, r.code) AS outcome, round(r.duration_us / 1000.0, 1) AS duration_ms,
      r.request_id, NULL AS trace_id, ${madeSql} AS makes`,
    Prisma.sql`request_log r WHERE r.account_id = ${accountId}::uuid AND r.mode = ${mode} AND ${condition}`,
  )
}

/** Reads are no part of a trace: programs poll. */
async function readSteps(scope: TraceScope, { kind, id, created_at }: Subject): Promise<Step[]> {
  const { accountId } = scope
  const of = (alias: string) =>
    Prisma.sql`${Prisma.raw(`${alias}.account_id`)} = ${accountId}::uuid`
  const refundIds = Prisma.sql`SELECT f.id FROM refunds f WHERE ${of('f')} AND f.charge_id = ${id}::uuid`
  const since = smallestIdAt(Date.parse(created_at) - BEFORE_MS)
  const noRequest = Prisma.sql`NULL AS request_id, NULL AS trace_id`
  const row = (what: string, table: string, cause: Prisma.Sql, condition: Prisma.Sql) =>
    stepSql(
      Prisma.sql`${what}::text AS what, ${utc('s.created_at', 'at')}, s.id, NULL AS name, s.status AS outcome,
        NULL AS duration_ms, ${cause}, NULL AS makes`,
      Prisma.sql`${Prisma.raw(table)} s WHERE ${of('s')} AND ${condition}`,
    )
  const order = Prisma.sql`LEFT JOIN LATERAL (
    SELECT w.trace FROM withdrawals w WHERE ${of('w')} AND w.id = g.subject_id
    UNION ALL SELECT f.trace FROM refunds f WHERE ${of('f')} AND f.id = g.subject_id) o ON true`
  const eventCause = Prisma.sql`${requestIdOf('e')} AS request_id,
    COALESCE(left(e.trace, 32), replace(e.id::text, '-', '')) AS trace_id, NULL AS makes`
  const deliveries = Prisma.sql`deliveries d JOIN events e ON e.account_id = d.account_id AND e.id = d.event_id`
  const ofSubject = Prisma.sql`${of('d')} AND d.subject_id = ${id}::uuid`
  const parts = [
    requestsSql(
      scope,
      Prisma.sql`r.id >= ${since}::uuid AND r.method NOT IN ('GET', 'HEAD', 'OPTIONS')
      AND (r.resource_id = ${id}::uuid OR ${madeSql} = ${id})`,
    ),
    kind === 'charge'
      ? row('charge', 'charges', noRequest, Prisma.sql`s.id = ${id}::uuid`)
      : row('withdrawal', 'withdrawals', causeSql('s'), Prisma.sql`s.id = ${id}::uuid`),
    row('refund', 'refunds', causeSql('s'), Prisma.sql`s.charge_id = ${id}::uuid`),
    stepSql(
      Prisma.sql`'bank_call' AS what, ${utc('g.created_at', 'at')}, g.id, g.operation AS name, g.outcome,
        round(extract(epoch FROM g.finished_at - g.created_at) * 1000, 1) AS duration_ms,
        ${causeSql('o')}, NULL AS makes`,
      Prisma.sql`gateway_calls g ${order}
        WHERE ${of('g')} AND g.subject_id IN (SELECT ${id}::uuid UNION ALL ${refundIds})
        ORDER BY g.id DESC`,
    ),
    stepSql(
      Prisma.sql`'event' AS what, ${utc('e.created_at', 'at')}, e.id, e.type AS name, NULL AS outcome,
        NULL AS duration_ms, ${eventCause}`,
      Prisma.sql`events e WHERE ${of('e')} AND e.subject_id = ${id}::uuid`,
    ),
    stepSql(
      Prisma.sql`'delivery' AS what, ${utc('(greatest(d.created_at, e.created_at))', 'at')}, d.id, d.host AS name, d.status AS outcome,
        NULL AS duration_ms, ${eventCause}`,
      Prisma.sql`${deliveries} WHERE ${ofSubject}`,
    ),
    stepSql(
      Prisma.sql`'attempt' AS what, ${utc('(a.created_at - make_interval(secs => a.duration_ms / 1e3))', 'at')},
        d.id, d.host || ' #' || a.number AS name,
        COALESCE(a.response_status::text, a.problem_code, 'failed') AS outcome, a.duration_ms, ${eventCause}`,
      Prisma.sql`${deliveries} JOIN delivery_attempts a ON a.account_id = d.account_id AND a.delivery_id = d.id
        WHERE ${ofSubject} ORDER BY a.created_at DESC`,
    ),
  ]
  const steps = await Promise.all(parts.map(part => queryRows<Step>(part)))
  return steps.flat()
}

const ACCOUNTS_MAX = 20
const SAFE_ID = /^[\w.:-]{1,64}$/

/** Finds traces by the id of a request, charge, refund or withdrawal, in all accounts. */
export async function findTraces(text: string): Promise<Trace[]> {
  const id = text.trim()
  if (!SAFE_ID.test(id)) return []
  const [owner] = isUuid(id) ? await findOwners(id.toLowerCase()) : []
  if (owner) {
    const trace = await readTrace(owner, id.toLowerCase())
    return trace ? [trace] : []
  }
  const scopes = await findScopes(id)
  return (await Promise.all(scopes.map(scope => readRequestTraces(scope, id)))).flat()
}

function findOwners(id: string): Promise<TraceScope[]> {
  const order = (table: string) => Prisma.sql`
    SELECT s.account_id, s.mode FROM accounts a JOIN ${Prisma.raw(table)} s
      ON s.account_id = a.id AND s.id = ${id}::uuid
    WHERE ${isInBucket(id)}`
  return queryRows<TraceScope>(Prisma.sql`
    SELECT json_build_object('accountId', f.account_id, 'mode', f.mode)::text AS json FROM (
      SELECT c.account_id, c.mode FROM charges c WHERE c.txid = ${removeHyphens(id)}
      UNION ALL ${order('withdrawals')} UNION ALL ${order('refunds')}) f`)
}

function findScopes(requestId: string): Promise<TraceScope[]> {
  return queryRows<TraceScope>(Prisma.sql`
    SELECT DISTINCT jsonb_build_object('accountId', f.account_id, 'mode', f.mode)::text AS json FROM (
      (SELECT r.account_id, r.mode FROM request_log r WHERE r.request_id = ${requestId} LIMIT ${ACCOUNTS_MAX})
      UNION ALL
      (SELECT e.account_id, e.mode FROM events e
        WHERE e.trace IS NOT NULL AND ${requestIdOf('e')} = ${requestId}
        LIMIT ${ACCOUNTS_MAX})) f LIMIT ${ACCOUNTS_MAX}`)
}
