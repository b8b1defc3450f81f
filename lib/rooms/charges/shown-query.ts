import type * as z from 'zod'
import { listQuery } from '#lib/base/fields.ts'
import {
  amountFilters,
  type ChargeFilters,
  type RefundFilter,
} from '#lib/rooms/charges/list-query.ts'
import { SHOWN_CHARGE_STATUSES, type ShownChargeStatus } from '#lib/rooms/charges/states.ts'

/** Query of the dashboard's list, with the statuses that it shows. */
export const shownChargesQuery = listQuery(SHOWN_CHARGE_STATUSES).extend(amountFilters)
export type ShownChargesQuery = z.infer<typeof shownChargesQuery>

export const shownChargeFilters = shownChargesQuery.omit({ limit: true, cursor: true })

const REFUNDED: Partial<Record<ShownChargeStatus, RefundFilter['refunded']>> = {
  paid: 'none',
  partly_refunded: 'part',
  refunded: 'whole',
}

/** Replaces the shown status by the conditions on a row. */
export function rowFiltersOf<Query extends { status?: ShownChargeStatus }>(
  query: Query,
): Omit<Query, 'status'> & Pick<ChargeFilters, 'status' | 'refunded'> {
  const { status, ...others } = query
  const refunded = status && REFUNDED[status]
  const rowStatus = status === 'partly_refunded' || status === 'refunded' ? 'paid' : status
  return { ...others, status: rowStatus, refunded }
}
