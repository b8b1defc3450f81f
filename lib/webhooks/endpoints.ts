import { isIP } from 'node:net'
import { findDeniedClass, hostnameOf, parseAddress } from '#lib/core/addresses.ts'
import { invalidInput, refuse, type TrocoError } from '#lib/core/errors.ts'
import { isUuid, newId } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db, Prisma, type Tx, transaction } from '#lib/db/client.ts'
import type { IdempotentRequest } from '#lib/db/idempotency.ts'
import { type Page, readPage } from '#lib/db/page.ts'
import { asJson, onPrimary, queryRows, utc } from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import { statusCondition, updateDeliveries } from '#lib/webhooks/deliveries.ts'
import type { EventRow } from '#lib/webhooks/events.ts'
import { lockAccount, type Owner, storeIdempotencyKey } from '#lib/webhooks/owner.ts'
import { problemText } from '#lib/webhooks/problem.ts'
import { ENDPOINTS_MAX, type EndpointChange, type EndpointRequest } from '#lib/webhooks/schema.ts'
import { addSecret, readCreatedSecret } from '#lib/webhooks/secrets.ts'
import { allowedRanges, findUrlProblem, hostOf, isOwn } from '#lib/webhooks/target.ts'
import {
  DISABLED_REASONS,
  type DisabledCode,
  disabledFields,
  type Endpoint,
} from '#lib/webhooks/wire.ts'

const eventAsJson = asJson(
  Prisma.sql`e.id, e.type, e.mode, e.sequence, e.resource, ${utc('e.created_at')}`,
)

/** Lists events after a sequence number, oldest first. The feed has no end: the cursor is never null. */
export async function listEvents(
  accountId: string,
  mode: Mode,
  after: number,
  limit: number,
): Promise<Page<EventRow, number>> {
  const rows = Prisma.sql`
    SELECT ${eventAsJson}::text AS json FROM events e
    WHERE ${onPrimary} AND e.account_id = ${accountId}::uuid AND e.mode = ${mode}
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

/** Finds the endpoint of API Pix, of which an account has one in each mode. */
export async function findApiPixEndpoint(accountId: string, mode: Mode) {
  return db().webhookEndpoint.findFirst({
    where: { accountId, mode, isApiPix: true, deletedAt: null },
  })
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

/** `isApiPix`: the receiver gets payments as API Pix has them. */
type NewEndpoint = EndpointRequest & { isApiPix?: boolean }

/** The secret has the endpoint's id, so that a repeated request can return the same secret. */
export async function createEndpoint(
  owner: Owner,
  { url, event_types, full_documents: wanted, isApiPix = false }: NewEndpoint,
  once?: IdempotentRequest,
): Promise<string> {
  const { accountId, mode, note } = owner
  requireReadsPayers(wanted, owner.readsPayers)
  await requirePublicAddress(url, mode)
  const id = once?.id ?? newId()
  await transaction(async tx => {
    await lockAccount(tx, accountId)
    const readsPayers = await lockReadsPayers(tx, owner)
    requireReadsPayers(wanted, readsPayers)
    const full_documents = wanted ?? false
    await storeIdempotencyKey(tx, once)
    const endpointCount = await tx.webhookEndpoint.count({
      where: { accountId, mode, deletedAt: null },
    })
    if (endpointCount >= ENDPOINTS_MAX) throw tooManyEndpoints()
    const data = { url, host: hostOf(url), eventTypes: event_types, fullDocuments: full_documents }
    await tx.webhookEndpoint.create({ data: { accountId, id, mode, isApiPix, ...data } })
    await addSecret(tx, { accountId, mode, endpointId: id }, id)
    await note(tx, 'webhook_endpoint.created', id, {
      after: { mode, url: redactUrl(url), event_types, full_documents },
    })
  })
  return id
}

/**
 * Changes an endpoint. Waiting deliveries are sent to the new URL. If the actor may not read
 * documents, an endpoint with a new URL receives them masked.
 */
export async function editEndpoint(
  owner: Owner,
  id: string,
  { url, event_types, full_documents }: EndpointChange,
): Promise<void> {
  const { accountId, note } = owner
  requireReadsPayers(full_documents, owner.readsPayers)
  if (url) await requirePublicAddress(url, owner.mode)
  await transaction(async tx => {
    const readsPayers = await lockReadsPayers(tx, owner)
    requireReadsPayers(full_documents, readsPayers)
    const endpoint = await lockEndpoint(tx, owner, id)
    const before = {
      url: endpoint.url,
      event_types: endpoint.eventTypes,
      full_documents: endpoint.fullDocuments,
    }
    const keepsDocuments = before.full_documents && (readsPayers || !url || url === before.url)
    const after = {
      url: url ?? before.url,
      event_types: event_types ?? before.event_types,
      full_documents: full_documents ?? keepsDocuments,
    }
    await tx.webhookEndpoint.update({
      where: { accountId_id: { accountId, id } },
      data: {
        url: after.url,
        host: hostOf(after.url),
        eventTypes: after.event_types,
        fullDocuments: after.full_documents,
      },
    })
    await note(tx, 'webhook_endpoint.edited', id, {
      before: { ...before, url: redactUrl(before.url) },
      after: { ...after, url: redactUrl(after.url) },
    })
  })
  if (!url) return
  await updateDeliveries(
    Prisma.sql`${endpointCondition(accountId, id)} AND ${statusCondition('pending', 'paused')} AND d.url <> ${url}`,
    Prisma.sql`url = ${url}, host = ${hostOf(url)}`,
  )
}

/** The actor may have lost the role since the request was checked. */
async function lockReadsPayers(tx: Tx, owner: Owner): Promise<boolean> {
  const authority = owner.lockAuthority ? await owner.lockAuthority(tx) : owner
  return authority.readsPayers ?? false
}

function requireReadsPayers(full_documents: boolean | undefined, readsPayers = false): void {
  if (full_documents && !readsPayers) throw documentsNotHeld()
}

export function documentsNotHeld(): TrocoError {
  const advice = 'leave full_documents out or ask an owner'
  return refuse('permission_not_held', { permission: 'payers:read', advice })
}

export function tooManyEndpoints(): TrocoError {
  const message = `The limit of ${ENDPOINTS_MAX} endpoints is reached: edit or delete one`
  return refuse('limit_reached', message)
}

/** Keeps the row for its deliveries, disabled: a delivery enqueued concurrently is not sent. */
export async function deleteEndpoint(owner: Owner, id: string): Promise<void> {
  const { accountId, note } = owner
  await transaction(async tx => {
    const { url, disabledAt } = await lockEndpoint(tx, owner, id)
    const now = new Date()
    await tx.webhookEndpoint.update({
      where: { accountId_id: { accountId, id } },
      data: { deletedAt: now, disabledAt: disabledAt ?? now },
    })
    await note(tx, 'webhook_endpoint.deleted', id, { before: { url: redactUrl(url) } })
  })
  await updateDeliveries(
    Prisma.sql`${endpointCondition(accountId, id)} AND ${statusCondition('pending', 'paused')}`,
    Prisma.sql`status = 'stopped', due_at = NULL`,
  )
}

/** Removes user and query, often secrets of the receiver, for the audit log. */
function redactUrl(url: string): string {
  const { origin, pathname, search } = new URL(url)
  return `${origin}${pathname}${search ? '?…' : ''}`
}

async function lockEndpoint(tx: Tx, { accountId, mode }: Owner, id: string) {
  if (isUuid(id)) {
    await tx.$queryRaw`
      SELECT p.id FROM webhook_endpoints p
      WHERE p.account_id = ${accountId}::uuid AND p.id = ${id}::uuid FOR NO KEY UPDATE`
    const where = { accountId, mode, id, deletedAt: null }
    const endpoint = await tx.webhookEndpoint.findFirst({ where })
    if (endpoint) return endpoint
  }
  throw refuse('endpoint_not_found')
}

/** A name may lead elsewhere later, so only what is certain is refused; each delivery checks again. */
async function requirePublicAddress(url: string, mode: Mode): Promise<void> {
  const parsed = new URL(url)
  const problem = findUrlProblem(parsed, mode)
  if (problem) throw invalidInput('url', problemText(problem).replace(/^The webhook /, ''))
  const host = hostnameOf(parsed)
  const name = /(^|\.)localhost$/.test(host) ? '127.0.0.1' : host
  const deniedClass = isIP(name) ? findDeniedClass(name, allowedRanges()) : null
  if (deniedClass) throw invalidInput('url', `must be a public address: this one is ${deniedClass}`)
  const address = parseAddress(name)
  if (address && (await isOwn([address])))
    throw invalidInput('url', 'must not lead back to this gateway: give your own server')
}

/** Disables an endpoint. Its due and future deliveries wait until the endpoint is enabled. */
export async function disableEndpoint(
  accountId: string,
  id: string,
  code: DisabledCode,
): Promise<void> {
  await db().webhookEndpoint.updateMany({
    where: { accountId, id, disabledAt: null },
    data: disabledFields(code),
  })
  await pauseDeliveries(accountId, id)
}

/** Resumes deliveries enqueued by a statement that still saw their endpoint as disabled. */
export function resumeDeliveries(): Promise<number> {
  return db().$executeRaw`
    UPDATE deliveries SET due_at = now() WHERE (account_id, id) IN (
      SELECT d.account_id, d.id FROM deliveries d
      JOIN webhook_endpoints p ON p.account_id = d.account_id AND p.id = d.endpoint_id
      WHERE d.status = 'pending' AND d.due_at IS NULL
        AND p.disabled_at IS NULL AND p.deleted_at IS NULL
      LIMIT 500)`
}

/** Disables an endpoint at the merchant's request, unless it is already disabled. */
export async function pauseEndpoint(owner: Owner, id: string): Promise<void> {
  const { accountId, note } = owner
  const paused = await transaction(async tx => {
    const { disabledAt } = await lockEndpoint(tx, owner, id)
    if (disabledAt) return false
    await tx.webhookEndpoint.update({
      where: { accountId_id: { accountId, id } },
      data: disabledFields(owner.isToken ? 'by_token' : 'by_member'),
    })
    await note(tx, 'webhook_endpoint.disabled', id, {})
    return true
  })
  if (paused) await pauseDeliveries(accountId, id)
}

/**
 * Enables an endpoint, then sends or stops the deliveries missed since it began to fail, in order.
 * Safe to repeat after a crash: no delivery is sent before the endpoint is enabled.
 */
export async function enableEndpoint(
  owner: Owner,
  id: string,
  sendMissed: boolean,
): Promise<number> {
  const { accountId, note } = owner
  const { disabledAt, failingSince } = await transaction(tx => lockEndpoint(tx, owner, id))
  if (!disabledAt) return 0
  const pausedCondition = Prisma.sql`${endpointCondition(accountId, id)} AND ${statusCondition('paused')}`
  if (sendMissed && failingSince) await requeueFailed(accountId, id)
  const stopped = sendMissed
    ? 0
    : await updateDeliveries(pausedCondition, Prisma.sql`status = 'stopped'`)
  await transaction(async tx => {
    const current = await lockEndpoint(tx, owner, id)
    if (!current.disabledAt) return
    await tx.webhookEndpoint.update({
      where: { accountId_id: { accountId, id } },
      data: {
        disabledAt: null,
        disabledCode: null,
        failingSince: null,
        exhausted: 0,
      },
    })
    await note(tx, 'webhook_endpoint.enabled', id, { after: { send_missed: sendMissed } })
  })
  if (!sendMissed) return stopped
  const due = await updateDeliveries(pausedCondition, Prisma.sql`due_at = now()`)
  wake('deliveries')
  return due
}

/** Counts deliveries paused, or exhausted or stopped since the endpoint began to fail. */
export async function countMissed(accountId: string, mode: Mode, id: string): Promise<number> {
  const condition = Prisma.sql`${endpointCondition(accountId, id)} AND d.mode = ${mode}`
  const [{ missed } = { missed: 0n }] = await db().$queryRaw<{ missed: bigint }[]>`
    SELECT (SELECT count(*) FROM deliveries d WHERE ${condition} AND ${statusCondition('paused')})
      + (SELECT count(*) FROM deliveries d WHERE ${condition} AND ${statusCondition('exhausted', 'stopped')}
        AND d.updated_at >= ${failingSinceSql(accountId, id)}) AS missed`
  return Number(missed)
}

function failingSinceSql(accountId: string, id: string): Prisma.Sql {
  return Prisma.sql`(SELECT p.failing_since FROM webhook_endpoints p
    WHERE p.account_id = ${accountId}::uuid AND p.id = ${id}::uuid)`
}

async function requeueFailed(accountId: string, id: string): Promise<void> {
  await updateDeliveries(
    Prisma.sql`${endpointCondition(accountId, id)} AND ${statusCondition('exhausted', 'stopped')}
      AND d.updated_at >= ${failingSinceSql(accountId, id)}`,
    Prisma.sql`status = 'pending', attempts_before = d.attempts`,
  )
}

function endpointCondition(accountId: string, id: string): Prisma.Sql {
  return Prisma.sql`d.account_id = ${accountId}::uuid AND d.endpoint_id = ${id}::uuid`
}

/** Clears due times. A call in progress ends, and its result counts. */
function pauseDeliveries(accountId: string, endpointId: string): Promise<number> {
  return updateDeliveries(
    Prisma.sql`${endpointCondition(accountId, endpointId)} AND d.status = 'pending'
      AND d.due_at IS NOT NULL`,
    Prisma.sql`due_at = NULL`,
  )
}
