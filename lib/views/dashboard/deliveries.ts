import { db } from '#lib/base/db/client.ts'
import type { Page } from '#lib/base/db/page.ts'
import { isUuid } from '#lib/base/ids.ts'
import type { Mode } from '#lib/base/mode.ts'
import { findCharge } from '#lib/rooms/charges/queries.ts'
import { findWithdrawal } from '#lib/rooms/withdrawals/queries.ts'
import { listDeliveries } from '#lib/services/webhooks/delivery-queries.ts'
import type { Delivery } from '#lib/services/webhooks/delivery-wire.ts'
import { type DeliveriesQuery, deliveriesQuery } from '#lib/services/webhooks/schema.ts'
import { readSpan } from '#lib/views/dashboard/period.ts'
import type { SearchParams } from '#lib/views/dashboard/schema.ts'

const PAGE_SIZE = 25
const FILTERS = [
  ...(['status', 'type', 'endpoint_id', 'reference', 'cursor'] as const),
  ...(['created_from', 'created_to'] as const),
]

/** Reads the filters from a page's URL; invalid values are dropped. */
export function readDeliveriesQuery(params: SearchParams, timeZone: string): DeliveriesQuery {
  const { from, to } = readSpan(params, timeZone)
  const values: SearchParams = {
    ...params,
    created_from: from?.toISOString(),
    created_to: to?.toISOString(),
  }
  const valid = FILTERS.filter(
    name => values[name] && deliveriesQuery.shape[name].safeParse(values[name]).success,
  )
  const query = Object.fromEntries(valid.map(name => [name, values[name]]))
  return deliveriesQuery.parse({ ...query, limit: `${PAGE_SIZE}` })
}

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
