import { isIP } from 'node:net'
import { findDeniedClass, hostnameOf, parseAddress } from '#lib/core/addresses.ts'
import { invalidInput, refuse, type TrocoError } from '#lib/core/errors.ts'
import { isUuid, newId } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db, Prisma, type Tx } from '#lib/db/client.ts'
import type { IdempotentRequest } from '#lib/db/idempotency.ts'
import { transaction } from '#lib/db/transaction.ts'
import { allowedRanges } from '#lib/webhooks/address.ts'
import { endpointCondition, pauseDeliveries, updateDeliveries } from '#lib/webhooks/backlog.ts'
import { statusCondition } from '#lib/webhooks/delivery-queries.ts'
import { type DisabledCode, disabledFields } from '#lib/webhooks/disabled.ts'
import { lockAccount, type Owner, storeIdempotencyKey } from '#lib/webhooks/owner.ts'
import { problemText } from '#lib/webhooks/problem.ts'
import { ENDPOINTS_MAX, type EndpointChange, type EndpointRequest } from '#lib/webhooks/schema.ts'
import { addSecret } from '#lib/webhooks/secrets.ts'
import { findUrlProblem, hostOf, isOwn } from '#lib/webhooks/target.ts'

/** The secret has the endpoint's id, so that a repeated request can return the same secret. */
export async function createEndpoint(
  owner: Owner,
  { url, event_types, full_documents: wanted }: EndpointRequest,
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
    const full_documents = wanted ?? readsPayers
    await storeIdempotencyKey(tx, once)
    const endpointCount = await tx.webhookEndpoint.count({
      where: { accountId, mode, deletedAt: null },
    })
    if (endpointCount >= ENDPOINTS_MAX) throw tooManyEndpoints()
    const data = { url, host: hostOf(url), eventTypes: event_types, fullDocuments: full_documents }
    await tx.webhookEndpoint.create({ data: { accountId, id, mode, ...data } })
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
    Prisma.sql`status = 'stopped', due_at = NULL, lease = NULL`,
  )
}

/** Removes user and query, often secrets of the receiver, for the audit log. */
function redactUrl(url: string): string {
  const { origin, pathname, search } = new URL(url)
  return `${origin}${pathname}${search ? '?…' : ''}`
}

export async function lockEndpoint(tx: Tx, { accountId, mode }: Owner, id: string) {
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
      WHERE d.status = 'pending' AND d.due_at IS NULL AND d.lease IS NULL
        AND p.disabled_at IS NULL AND p.deleted_at IS NULL
      LIMIT 500)`
}
