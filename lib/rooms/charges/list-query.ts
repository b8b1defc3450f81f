import * as z from 'zod'
import { listQuery, must, openApiMeta } from '#lib/base/fields.ts'
import { CHARGE_STATUSES } from '#lib/rooms/charges/states.ts'

const SEARCH_DESCRIPTION =
  "Search text: words of the payer's name, e-mail and the reference, in any order and ignoring case and accents, an amount (`446,54`), an id, at least four characters of the end of an end-to-end id or, with `payers:read`, at least three of the beginning of a document."
const CENTS_RULE = 'be a whole number of cents'

function centsFilter(description: string, example: number) {
  return z
    .string()
    .regex(/^\d{1,12}$/, must(CENTS_RULE))
    .transform(Number)
    .optional()
    .meta({ like: z.int().min(0).optional(), ...openApiMeta(description, example) })
}

export const amountFilters = {
  amount_from: centsFilter('Minimum amount, in cents.', 1500),
  amount_to: centsFilter('Maximum amount, in cents.', 9900),
}

export const chargesQuery = listQuery(CHARGE_STATUSES, SEARCH_DESCRIPTION).extend(amountFilters)
export type ChargesQuery = z.infer<typeof chargesQuery>

/** How much of a charge is refunded; only the dashboard filters by it. */
export interface RefundFilter {
  refunded?: 'none' | 'part' | 'whole'
}
export type ChargeFilters = Omit<ChargesQuery, 'limit' | 'cursor'> & RefundFilter
