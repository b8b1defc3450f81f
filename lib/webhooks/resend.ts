import { refuse } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db, Prisma, transaction } from '#lib/db/client.ts'
import { wake } from '#lib/db/wake.ts'
import { endpointAndSubjectSql, isUnderWaySql, statusCondition } from '#lib/webhooks/deliveries.ts'
import { updateDeliveries } from '#lib/webhooks/endpoints.ts'
import type { Owner } from '#lib/webhooks/owner.ts'
import type { ResendRequest } from '#lib/webhooks/schema.ts'
import { matchEventTypes, NO_ENDPOINT } from '#lib/webhooks/states.ts'

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
export type FailedDeliveriesFilter = ResendRequest & { subject_ids?: string[] }

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
