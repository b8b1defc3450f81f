import { db } from '#lib/base/db/client.ts'
import type { Page } from '#lib/base/db/page.ts'
import { isUuid } from '#lib/base/ids.ts'
import type { Mode } from '#lib/base/mode.ts'
import { findCharge } from '#lib/rooms/charges/queries.ts'
import { findWithdrawal } from '#lib/rooms/withdrawals/queries.ts'
import { listDeliveries } from '#lib/services/webhooks/delivery-queries.ts'
import { type DeliveriesQuery, deliveriesQuery } from '#lib/services/webhooks/schema.ts'
import type { Delivery } from '#lib/services/webhooks/wire.ts'
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
  const given: SearchParams = {
    ...params,
    created_from: from?.toISOString(),
    created_to: to?.toISOString(),
  }
  const known = FILTERS.filter(
    name => given[name] && deliveriesQuery.shape[name].safeParse(given[name]).success,
  )
  const query = Object.fromEntries(known.map(name => [name, given[name]]))
  return deliveriesQuery.parse({ ...query, limit: `${PAGE_SIZE}` })
}

export async function listDeliveriesOf(
  accountId: string,
  mode: Mode,
  query: DeliveriesQuery,
): Promise<Page<Delivery>> {
  return listDeliveries(accountId, mode, await withSubjects(accountId, mode, query))
}

export async function withSubjects<Query extends { reference?: string }>(
  accountId: string,
  mode: Mode,
  query: Query,
): Promise<Query & { subject_ids?: string[] }> {
  const { reference } = query
  if (!reference) return query
  return { ...query, subject_ids: await findSubjects(accountId, mode, reference) }
}

async function findSubjects(accountId: string, mode: Mode, reference: string): Promise<string[]> {
  if (isUuid(reference)) {
    const event = await db().event.findFirst({
      where: { accountId, mode, id: reference },
      select: { subjectId: true },
    })
    return [event?.subjectId ?? reference]
  }
  const found = await Promise.all([
    findCharge(accountId, mode, reference),
    findWithdrawal(accountId, mode, reference),
  ])
  return found.flatMap(one => (one ? [one.id] : []))
}
