import { increment, observe } from '#lib/core/metrics.ts'
import { createBatcher } from '#lib/db/batch.ts'
import { Prisma } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/rows.ts'
import { retryOnConflict } from '#lib/db/transaction.ts'
import type { DueDelivery } from '#lib/webhooks/claim-deliveries.ts'
import { disableEndpoint } from '#lib/webhooks/endpoints.ts'
import type { Outcome } from '#lib/webhooks/post.ts'
import { problemText } from '#lib/webhooks/problem.ts'
import { nextPauseMs } from '#lib/webhooks/schedule.ts'

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

/**
 * Stores attempts. Returns for each attempt whether to disable its endpoint. See
 * prisma/functions/troco_finish_deliveries.sql.
 */
async function finishAll(attempts: FinishedAttempt[]): Promise<boolean[]> {
  const rows = attempts.map(resultOf)
  const results = JSON.stringify(rows)
  const givenUp = await retryOnConflict(() =>
    queryRows<string>(Prisma.sql`
      SELECT to_json(id)::text AS json FROM troco_finish_deliveries(
        ${results}::json, ${GIVEN_UP_EXHAUSTED_MIN}::integer, ${GIVEN_UP_AFTER}) AS id`),
  )
  for (const { status, duration_ms } of rows) {
    increment('troco_delivery_attempts_total', [status === 'pending' ? 'retried' : status])
    observe('troco_delivery_attempt_seconds', [], duration_ms / 1_000)
  }
  return attempts.map(({ due }) => due.endpointId !== null && givenUp.includes(due.endpointId))
}

function resultOf(attempt: FinishedAttempt) {
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
