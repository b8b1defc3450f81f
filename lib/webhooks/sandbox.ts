import * as z from 'zod'
import { invalidInput } from '#lib/core/errors.ts'
import { instant, must, openApiMeta } from '#lib/core/fields.ts'
import { newId } from '#lib/core/ids.ts'
import { db, retryOnConflict } from '#lib/db/client.ts'
import { utc } from '#lib/db/sql.ts'
import { countTestBytes } from '#lib/db/test-usage.ts'
import { wake } from '#lib/db/wake.ts'
import { type Outcome, TOTAL_MS } from '#lib/webhooks/post.ts'
import { WEBHOOK_FAULTS, type WebhookFault } from '#lib/webhooks/states.ts'

const UNIT_S: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 }
/** Longer than any deadline of the product. */
const ADVANCE_MAX_S = 366 * 86_400
const ADVANCE_RULE = must('be a duration such as 90s, 5m, 25h or 2d, at most 366d')
/** Together within an hour. Further, a due time would leave the calendar of the database. */
const ADVANCED_MAX_S = 10 * ADVANCE_MAX_S
/** Bytes that the move of a row writes, with its indexes and the log of the database. */
const MOVED_ROW_BYTES = 512
const COUNT_MAX = 100
const COUNT_RULE = must(`be a whole number from 1 to ${COUNT_MAX}`)

export const ClockRequest = z
  .strictObject({
    advance: z
      .string(ADVANCE_RULE)
      .regex(/^[1-9]\d{0,8}[smhd]$/, { ...ADVANCE_RULE, abort: true })
      .refine(text => readDuration(text) <= ADVANCE_MAX_S, ADVANCE_RULE)
      .meta(openApiMeta('How much time passes, at most `366d`.', '25h')),
  })
  .meta({ id: 'SandboxClock' })

export const WebhookFaultRequest = z
  .strictObject({
    fault: z
      .enum(WEBHOOK_FAULTS, must(`be one of: ${WEBHOOK_FAULTS.join(', ')}`))
      .meta(
        openApiMeta(
          '`unavailable`: not sent, and treated as a 503. `timeout`: sent, and treated as unanswered. `duplicate`: sent twice.',
          'timeout',
        ),
      ),
    count: z
      .int(COUNT_RULE)
      .min(1, COUNT_RULE)
      .max(COUNT_MAX, COUNT_RULE)
      .default(1)
      .meta(openApiMeta('How many of the next webhooks meet it. Default: 1.', 3)),
  })
  .meta({ id: 'SandboxWebhooks' })

const SandboxState = z
  .object({
    advanced_s: z
      .int()
      .meta(openApiMeta('Seconds that the account let pass in the last hour.', 90_000)),
    webhook_fault: z
      .enum(WEBHOOK_FAULTS)
      .nullable()
      .meta(openApiMeta('What the next webhooks meet, or null.', 'timeout')),
    webhooks_left: z.int().meta(openApiMeta('How many webhooks are still to meet it.', 3)),
    ends_at: instant
      .nullable()
      .meta(openApiMeta('When all of it ends by itself, or null.', '2026-11-21T02:27:00.123456Z')),
  })
  .meta({ id: 'SandboxState' })
export type SandboxState = z.infer<typeof SandboxState>
export const SandboxStateRead = z.object({ data: SandboxState }).meta({ id: 'SandboxStateRead' })

function readDuration(text: string): number {
  return Number(text.slice(0, -1)) * (UNIT_S[text.slice(-1)] ?? Number.NaN)
}

/**
 * Lets time pass in the test mode of an account, in one statement: prisma/functions/troco_advance_test.sql moves what is
 * due, and the row moves what is judged by the time of a payment (troco_test_now). Called twice with an id, it passes once.
 */
export async function advanceClock(
  accountId: string,
  { advance }: z.infer<typeof ClockRequest>,
  id: string = newId(),
): Promise<SandboxState> {
  const seconds = readDuration(advance)
  const { advanced_s: before } = await readSandboxState(accountId)
  if (before + seconds > ADVANCED_MAX_S)
    throw invalidInput('advance', 'must be within ten years, with what passed in the last hour')
  const [passed] = await retryOnConflict(
    () => db().$queryRaw<{ rows: number }[]>`
      WITH over AS (DELETE FROM sandbox_controls WHERE account_id = ${accountId}::uuid AND ends_at <= now()),
      passed AS (
        INSERT INTO sandbox_controls (account_id, id, kind, amount)
        VALUES (${accountId}::uuid, ${id}::uuid, 'clock', ${seconds}::bigint)
        ON CONFLICT DO NOTHING RETURNING account_id)
      SELECT troco_advance_test(account_id, make_interval(secs => ${seconds}::float8)) AS rows FROM passed`,
  )
  countTestBytes(accountId, (passed?.rows ?? 0) * MOVED_ROW_BYTES)
  for (const topic of ['charges', 'orders', 'deliveries'] as const) wake(topic)
  return readSandboxState(accountId)
}

/** Lets the next webhooks of the test mode of an account fail, in place of an earlier failure. */
export async function failWebhooks(
  accountId: string,
  { fault, count }: z.infer<typeof WebhookFaultRequest>,
): Promise<SandboxState> {
  await db().$executeRaw`
    WITH over AS (
      DELETE FROM sandbox_controls WHERE account_id = ${accountId}::uuid AND (ends_at <= now() OR kind <> 'clock'))
    INSERT INTO sandbox_controls (account_id, id, kind, amount)
    VALUES (${accountId}::uuid, ${newId()}::uuid, ${fault}, ${count}::bigint)`
  return readSandboxState(accountId)
}

/** Ends what the two above do. What has happened meanwhile stays. */
export async function endSandboxControls(accountId: string): Promise<SandboxState> {
  await db().$executeRaw`DELETE FROM sandbox_controls WHERE account_id = ${accountId}::uuid`
  return readSandboxState(accountId)
}

export async function readSandboxState(accountId: string): Promise<SandboxState> {
  const [row] = await db().$queryRaw<SandboxState[]>`
    SELECT COALESCE(sum(amount) FILTER (WHERE kind = 'clock'), 0)::float8 AS advanced_s,
      max(kind) FILTER (WHERE kind <> 'clock') AS webhook_fault,
      COALESCE(sum(amount) FILTER (WHERE kind <> 'clock'), 0)::float8 AS webhooks_left,
      ${utc('max(ends_at)', 'ends_at')}
    FROM sandbox_controls WHERE account_id = ${accountId}::uuid AND ends_at > now() AND amount > 0`
  return row as SandboxState
}

/** Takes the failure that a webhook of the test mode meets; null: another one took the last. */
async function takeFault(accountId: string): Promise<WebhookFault | null> {
  const [row] = await db().$queryRaw<{ kind: WebhookFault }[]>`
    UPDATE sandbox_controls SET amount = amount - 1
    WHERE account_id = ${accountId}::uuid AND kind <> 'clock' AND amount > 0 AND ends_at > now()
    RETURNING kind`
  return row?.kind ?? null
}

/** Sends a webhook with the failure that the account asked for. The log of attempts shows what the receiver would cause. */
export async function postWithFault(
  accountId: string,
  post: () => Promise<Outcome>,
): Promise<Outcome> {
  const fault = await takeFault(accountId)
  if (fault === 'unavailable') return { ...FAILED, ...UNAVAILABLE }
  const outcome = await post()
  if (fault === 'duplicate') return post()
  if (fault !== 'timeout') return outcome
  const { address, durationMs } = outcome
  const problem = { code: 'timeout', params: { seconds: TOTAL_MS / 1_000 } } as const
  return { ...FAILED, address, durationMs, problem }
}

const FAILED: Outcome = {
  status: null,
  headers: null,
  body: null,
  problem: null,
  address: null,
  durationMs: 0,
  retryAfterMs: null,
}
const UNAVAILABLE: Partial<Outcome> = {
  status: 503,
  headers: {},
  body: 'Not sent: POST /sandbox/webhooks asked for this failure',
  problem: { code: 'status', params: { status: 503 } },
}
