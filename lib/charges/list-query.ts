import * as z from 'zod'
import { CHARGE_STATUSES, type ChargeStatus } from '#lib/charges/states.ts'
import { keyed, listQuery, must, openApiMeta, repeatable, timeFilter } from '#lib/core/fields.ts'

const SEARCH_DESCRIPTION =
  "Search text: words of the payer's name, e-mail and the reference, in any order and ignoring case and accents, an amount (`446,54`), an id, at least four characters of the end of an end-to-end ID or, with `payers:read`, at least three of the beginning of a CPF or CNPJ."
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
  min_amount: centsFilter('Minimum amount, in cents.', 1500),
  max_amount: centsFilter('Maximum amount, in cents.', 9900),
}

const METADATA_LENGTH_MAX = 255
const PAID_DESCRIPTION = 'a date (midnight UTC) or a time with a UTC offset.'
const METADATA_DESCRIPTION =
  'Only charges whose `metadata` has this value at this key of the first level, as text, number or boolean: `metadata[order]=1048`. Several keys must all match.'

export const chargesQuery = listQuery(CHARGE_STATUSES, SEARCH_DESCRIPTION).extend({
  status: repeatable(CHARGE_STATUSES)
    .optional()
    .meta({
      like: z.union([z.enum(CHARGE_STATUSES), z.array(z.enum(CHARGE_STATUSES))]).optional(),
      ...openApiMeta('Only charges with this status. Repeat it for several.', 'paid'),
    }),
  ...amountFilters,
  paid_from: timeFilter
    .optional()
    .meta(openApiMeta(`Paid at or after: ${PAID_DESCRIPTION}`, '2026-11-01')),
  paid_to: timeFilter
    .optional()
    .meta(openApiMeta(`Paid before: ${PAID_DESCRIPTION}`, '2026-12-01')),
  metadata: keyed(METADATA_LENGTH_MAX, METADATA_LENGTH_MAX)
    .optional()
    .meta({
      like: z.record(z.string(), z.string()).optional(),
      ...openApiMeta(METADATA_DESCRIPTION, { order: '1048' }),
    }),
})
export type ChargesQuery = z.infer<typeof chargesQuery>

/** Filters of the dashboard only: how much of a charge is refunded, and whether it was cancelled. */
export interface ShownFilter {
  refunded?: 'none' | 'part' | 'whole'
  isCancelled?: boolean
}
/** Filters by what is in no index in list order. */
export type ScannedFilters = Pick<ChargesQuery, 'paid_from' | 'paid_to' | 'metadata'>

/** All others. */
export type ChargeFilters = Omit<
  ChargesQuery,
  'limit' | 'cursor' | 'status' | keyof ScannedFilters
> &
  ShownFilter & { status?: ChargeStatus | ChargeStatus[] | undefined }
