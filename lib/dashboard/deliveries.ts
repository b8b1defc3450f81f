import { findCharge } from '#lib/charges/list.ts'
import { isUuid } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { readSpan } from '#lib/dashboard/period.ts'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { db } from '#lib/db/client.ts'
import type { Page } from '#lib/db/page.ts'
import { listDeliveries } from '#lib/webhooks/deliveries.ts'
import { type DeliveriesQuery, deliveriesQuery } from '#lib/webhooks/schema.ts'
import type { Delivery } from '#lib/webhooks/wire.ts'
import { findWithdrawal } from '#lib/withdrawals/queries.ts'

const PAGE_SIZE = 25
const FILTERS = [
  'status',
  'type',
  'endpoint_id',
  'reference',
  'cursor',
  'created_from',
  'created_to',
] as const

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
