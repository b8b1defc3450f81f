import { createBatcher } from '#lib/base/db/batch.ts'
import { Prisma } from '#lib/base/db/client.ts'
import { queryRows } from '#lib/base/db/rows.ts'
import { retryOnConflict } from '#lib/base/db/transaction.ts'
import type { DueDelivery } from '#lib/services/webhooks/claim-deliveries.ts'
import { disableEndpoint } from '#lib/services/webhooks/endpoints.ts'
import type { Outcome } from '#lib/services/webhooks/post.ts'
import { problemText } from '#lib/services/webhooks/problem.ts'
import { nextPauseMs } from '#lib/services/webhooks/schedule.ts'

const HTTP_GONE = 410
const BATCH_MAX = 100

/** Minimum time without a success before an endpoint is disabled. */
const GIVEN_UP_AFTER = Prisma.sql`interval '5 days'`
/** Minimum exhausted deliveries before an endpoint is disabled, in addition to the time above. */
const GIVEN_UP_EXHAUSTED_MIN = 10

/** The body of the request is stored with the first attempt, and with one that masks it later. */
interface FinishedAttempt {
  due: DueDelivery
  sent: { headers: Record<string, string>; body: string }
  outcome: Outcome
}

/**
 * Stores an attempt and its delivery's new state. Unless a retry follows, the resource's next event
 * becomes due. If the lease was lost, only the attempt is stored.
 */
export async function finishDelivery(attempt: FinishedAttempt): Promise<void> {
  const { accountId, endpointId } = attempt.due
  const isGivenUp = await finishBatched(attempt)
  if (endpointId === null) return
  if (attempt.outcome.status === HTTP_GONE) {
    await disableEndpoint(accountId, endpointId, 'gone')
  } else if (isGivenUp) {
    await disableEndpoint(accountId, endpointId, 'given_up')
  }
}

/** Stores attempts in batches: a statement for many rows costs little more than for one row. */
const finishBatched = createBatcher({
  run: finishAll,
  queueOf: () => '',
  keyOf: ({ due }: FinishedAttempt) => due.id,
  batchMax: BATCH_MAX,
})

/** Stores attempts. Returns for each attempt whether to disable its endpoint. */
async function finishAll(attempts: FinishedAttempt[]): Promise<boolean[]> {
  const givenUp = await retryOnConflict(() =>
    queryRows<{ id: string }>(Prisma.sql`
      WITH tried AS (${attemptRows(attempts)}), finished AS (
        UPDATE deliveries d SET status = t.status, lease = NULL, attempts = d.attempts + 1,
          delivered_at = CASE WHEN t.status = 'delivered' THEN now() END, updated_at = now(),
          due_at = CASE WHEN t.status = 'pending' AND p.disabled_at IS NULL
            THEN now() + make_interval(secs => t.due_in_ms / 1000) END
        FROM tried t LEFT JOIN webhook_endpoints p
          ON p.account_id = t.account_id AND p.id = t.endpoint_id
        WHERE d.account_id = t.account_id AND d.id = t.id AND d.lease = t.lease
        RETURNING d.*
      ), kept AS (
        INSERT INTO delivery_attempts (account_id, delivery_id, number, request_headers,
          request_body, address, response_status, response_headers, response_body, problem,
          problem_code, problem_params, duration_ms)
        SELECT t.account_id, t.id, 1 + COALESCE((SELECT max(a.number) FROM delivery_attempts a
            WHERE a.account_id = t.account_id AND a.delivery_id = t.id), 0),
          t.request_headers, t.request_body, t.address, t.response_status,
          t.response_headers, t.response_body, t.problem, t.problem_code, t.problem_params,
          t.duration_ms
        FROM tried t
      ), freed AS (
        UPDATE deliveries n SET due_at = now() FROM finished f
        WHERE f.status <> 'pending' AND n.account_id = f.account_id
          AND n.subject_id = f.subject_id AND n.endpoint_id IS NOT DISTINCT FROM f.endpoint_id
          AND n.sequence > f.sequence AND n.status = 'pending' AND n.lease IS NULL
          AND n.due_at > now()
      ), of_endpoints AS (
        SELECT f.account_id, f.endpoint_id, bool_or(f.status = 'delivered') AS told,
          count(*) FILTER (WHERE f.status = 'exhausted')::integer AS exhausted
        FROM finished f WHERE f.endpoint_id IS NOT NULL GROUP BY f.account_id, f.endpoint_id
      ), counted AS (
        UPDATE webhook_endpoints p SET
          failing_since = CASE WHEN NOT e.told THEN COALESCE(p.failing_since, now()) END,
          exhausted = CASE WHEN e.told THEN 0 ELSE p.exhausted + e.exhausted END
        FROM of_endpoints e WHERE p.account_id = e.account_id AND p.id = e.endpoint_id
          AND (e.exhausted > 0 OR e.told = (p.failing_since IS NOT NULL))
        RETURNING p.id, p.disabled_at IS NULL AND p.exhausted >= ${GIVEN_UP_EXHAUSTED_MIN}
          AND p.failing_since < now() - ${GIVEN_UP_AFTER} AS is_given_up
      )
      SELECT json_build_object('id', id)::text AS json FROM counted WHERE is_given_up`),
  )
  return attempts.map(({ due }) => givenUp.some(({ id }) => id === due.endpointId))
}

/** One JSON parameter: with arrays, PostgreSQL would plan the statement again for each length. */
function attemptRows(attempts: FinishedAttempt[]): Prisma.Sql {
  const rows = attempts.map(attempt => {
    const { due, sent, outcome } = attempt
    return {
      account_id: due.accountId,
      id: due.id,
      lease: due.lease,
      endpoint_id: due.endpointId,
      ...decideStatus(attempt),
      request_headers: sent.headers,
      request_body: due.body === sent.body ? null : sent.body,
      address: outcome.address,
      response_status: outcome.status,
      response_headers: outcome.headers,
      response_body: outcome.body,
      problem: problemText(outcome.problem),
      problem_code: outcome.problem?.code ?? null,
      problem_params: outcome.problem?.params ?? null,
      duration_ms: Math.round(outcome.durationMs),
    }
  })
  return Prisma.sql`
    SELECT * FROM json_to_recordset(${JSON.stringify(rows)}::json) AS t (account_id uuid, id uuid,
      lease uuid, endpoint_id uuid, status text, due_in_ms float8, request_headers json,
      request_body text, address text, response_status integer, response_headers json,
      response_body text, problem text, problem_code text, problem_params json,
      duration_ms integer)`
}

function decideStatus({ due, outcome }: FinishedAttempt): {
  status: string
  due_in_ms: number | null
} {
  const { problem, status, retryAfterMs } = outcome
  if (problem === null) return { status: 'delivered', due_in_ms: null }
  if (status === HTTP_GONE) return { status: 'stopped', due_in_ms: null }
  const target = due.endpointId === null ? 'resource' : 'endpoint'
  const dueInMs = nextPauseMs(target, due.tried + 1, retryAfterMs)
  return { status: dueInMs === null ? 'exhausted' : 'pending', due_in_ms: dueInMs }
}
