import type * as z from 'zod'
import { amountFilters, type ShownFilter } from '#lib/charges/list-query.ts'
import {
  type ChargeStatus,
  SHOWN_CHARGE_STATUSES,
  type ShownChargeStatus,
} from '#lib/charges/states.ts'
import { listQuery } from '#lib/core/fields.ts'

/** Query of the dashboard's list, with the statuses that it shows. */
export const shownChargesQuery = listQuery(SHOWN_CHARGE_STATUSES).extend(amountFilters)
export type ShownChargesQuery = z.infer<typeof shownChargesQuery>

export const shownChargeFilters = shownChargesQuery.omit({ limit: true, cursor: true })

type RowFilters = ShownFilter & { status?: ChargeStatus }

/** The conditions on a row for each shown status. */
const ROW_FILTERS: Record<ShownChargeStatus, RowFilters> = {
  pending: { status: 'pending' },
  paid: { status: 'paid', refunded: 'none' },
  partly_refunded: { status: 'paid', refunded: 'part' },
  refunded: { status: 'paid', refunded: 'whole' },
  expired: { status: 'expired', isCancelled: false },
  cancelled: { status: 'expired', isCancelled: true },
  failed: { status: 'failed' },
}

/** Replaces the shown status by the conditions on a row. */
export function rowFiltersOf<Query extends { status?: ShownChargeStatus }>(
  query: Query,
): Omit<Query, 'status'> & RowFilters {
  const { status, ...others } = query
  return { ...others, ...(status && ROW_FILTERS[status]) }
}
