import { refuse } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { type AccountRef, accountCondition, utc } from '#lib/db/columns.ts'
import { type Page, readPage } from '#lib/db/page.ts'
import { asJson, queryRows } from '#lib/db/rows.ts'
import { DISABLED_REASONS } from '#lib/webhooks/disabled.ts'
import type { EventRow } from '#lib/webhooks/event-wire.ts'
import { readCreatedSecret } from '#lib/webhooks/secrets.ts'
import type { Endpoint } from '#lib/webhooks/wire.ts'

const eventAsJson = asJson(
  Prisma.sql`e.id, e.type, e.mode, e.sequence, e.resource, ${utc('e.created_at')}`,
)

/** Lists events after a sequence number, oldest first. The feed has no end: the cursor is never null. */
export async function listEvents(
  account: AccountRef,
  mode: Mode,
  after: number,
  limit: number,
): Promise<Page<EventRow, number>> {
  const rows = Prisma.sql`
    SELECT ${eventAsJson}::text AS json FROM events e
    WHERE ${accountCondition('e', account)} AND e.mode = ${mode}
      AND e.sequence > ${after}::bigint
    ORDER BY e.sequence LIMIT ${limit}`
  const page = await readPage(rows, limit, ({ sequence }: EventRow) => Number(sequence))
  const last = page.rows.at(-1)
  return { ...page, nextCursor: last ? page.cursorOf(last) : after }
}

/** Maximum deliveries read for an endpoint's health: the cost must not grow with traffic. */
const HEALTH_DELIVERIES_MAX = 1_000

const health = Prisma.sql`(
  SELECT row_to_json(t) FROM (
    SELECT count(*) FILTER (WHERE a.problem IS NULL) AS delivered,
      count(*) FILTER (WHERE a.problem IS NOT NULL) AS failed,
      percentile_disc(0.95) WITHIN GROUP (ORDER BY a.duration_ms) AS p95_ms
    FROM (
      SELECT d.account_id, d.id, d.updated_at FROM deliveries d
      WHERE d.account_id = p.account_id AND d.endpoint_id = p.id
      ORDER BY d.sequence DESC LIMIT ${HEALTH_DELIVERIES_MAX}) d
    JOIN delivery_attempts a ON a.account_id = d.account_id AND a.delivery_id = d.id
    WHERE d.updated_at > now() - interval '24 hours' AND a.created_at > now() - interval '24 hours'
  ) t) AS health`

/** The English message of a code, for API clients. */
const disabledReason = Prisma.sql`${JSON.stringify(DISABLED_REASONS)}::json ->> p.disabled_code`

const endpointAsJson = asJson(Prisma.sql`
  p.id, p.url, p.event_types, p.full_documents,
  CASE WHEN p.disabled_at IS NULL THEN 'enabled' ELSE 'disabled' END AS status,
  ${utc('p.disabled_at')}, ${disabledReason} AS disabled_reason, p.disabled_code,
  ${utc('p.failing_since')}, ${utc('p.created_at')},
  ${utc('p.updated_at')}, ${health}`)

export function listEndpoints(accountId: string, mode: Mode): Promise<Endpoint[]> {
  return queryRows<Endpoint>(Prisma.sql`
    SELECT ${endpointAsJson}::text AS json FROM webhook_endpoints p
    WHERE p.account_id = ${accountId}::uuid AND p.mode = ${mode} AND p.deleted_at IS NULL
    ORDER BY p.id`)
}

export async function readEndpoint(accountId: string, mode: Mode, id: string): Promise<Endpoint> {
  const endpoint = isUuid(id) ? await findEndpoint(accountId, mode, id, false) : null
  if (!endpoint) throw refuse('endpoint_not_found')
  return endpoint
}

/** For a repeated request: the endpoint as it is now, even deleted, with its first secret. */
export async function readCreatedEndpoint(accountId: string, mode: Mode, id: string) {
  const endpoint = await findEndpoint(accountId, mode, id, true)
  if (!endpoint) throw new Invariant(`webhook endpoint ${id} was acknowledged but is missing`)
  const { secret } = await readCreatedSecret(accountId, mode, id)
  return { ...endpoint, secret }
}

async function findEndpoint(
  accountId: string,
  mode: Mode,
  id: string,
  includesDeleted: boolean,
): Promise<Endpoint | null> {
  const [row] = await queryRows<Endpoint>(Prisma.sql`
    SELECT ${endpointAsJson}::text AS json FROM webhook_endpoints p
    WHERE p.account_id = ${accountId}::uuid AND p.mode = ${mode} AND p.id = ${id}::uuid
      AND (p.deleted_at IS NULL OR ${includesDeleted}::boolean)`)
  return row ?? null
}

/** Maximum latest deliveries searched: after so many failures, first steps no longer matter. */
const DELIVERIES_READ_MAX = 1_000

/** Returns whether a webhook was ever delivered, and stores it: prisma/functions/troco_note_delivered.sql. */
export async function hasDelivered(accountId: string, mode: Mode): Promise<boolean> {
  const [found] = await db().$queryRaw<{ isStored: boolean; isFound: boolean }[]>`
    SELECT s.first_delivered_at IS NOT NULL AS "isStored", EXISTS (SELECT FROM (
        SELECT d.status FROM deliveries d
        WHERE d.account_id = s.account_id AND d.mode = s.mode AND s.first_delivered_at IS NULL
        ORDER BY d.sequence DESC LIMIT ${DELIVERIES_READ_MAX}) d
      WHERE d.status = 'delivered') AS "isFound"
    FROM event_sequences s WHERE s.account_id = ${accountId}::uuid AND s.mode = ${mode}`
  if (found?.isFound) {
    await db().$executeRaw`SELECT troco_note_delivered(ARRAY[${accountId}::uuid], ARRAY[${mode}])`
  }
  return found !== undefined && (found.isStored || found.isFound)
}
