import type { Mode } from '#lib/core/mode.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { transaction } from '#lib/db/transaction.ts'
import { wake } from '#lib/db/wake.ts'
import { endpointCondition, pauseDeliveries, updateDeliveries } from '#lib/webhooks/backlog.ts'
import { statusCondition } from '#lib/webhooks/delivery-queries.ts'
import { disabledFields } from '#lib/webhooks/disabled.ts'
import { lockEndpoint } from '#lib/webhooks/endpoints.ts'
import type { Owner } from '#lib/webhooks/owner.ts'

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
