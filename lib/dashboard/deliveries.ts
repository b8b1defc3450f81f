import { findCharge } from '#lib/charges/list.ts'
import { isUuid } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db } from '#lib/db/client.ts'
import type { Page } from '#lib/db/page.ts'
import { listDeliveries } from '#lib/webhooks/deliveries.ts'
import type { DeliveriesQuery } from '#lib/webhooks/schema.ts'
import type { Delivery } from '#lib/webhooks/wire.ts'
import { findWithdrawal } from '#lib/withdrawals/queries.ts'

export async function listDeliveriesByReference(
  accountId: string,
  mode: Mode,
  query: DeliveriesQuery,
): Promise<Page<Delivery>> {
  return listDeliveries(accountId, mode, await resolveReference(accountId, mode, query))
}

export async function resolveReference<Query extends { reference?: string }>(
  accountId: string,
  mode: Mode,
  query: Query,
): Promise<Query & { subject_ids?: string[] }> {
  const { reference } = query
  if (!reference) return query
  return { ...query, subject_ids: await findSubjectIds(accountId, mode, reference) }
}

async function findSubjectIds(accountId: string, mode: Mode, reference: string): Promise<string[]> {
  if (isUuid(reference)) {
    const event = await db().event.findFirst({
      where: { accountId, mode, id: reference },
      select: { subjectId: true },
    })
    return [event?.subjectId ?? reference]
  }
  const resources = await Promise.all([
    findCharge(accountId, mode, reference),
    findWithdrawal(accountId, mode, reference),
  ])
  return resources.flatMap(resource => (resource ? [resource.id] : []))
}
