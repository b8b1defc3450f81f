import * as z from 'zod'
import { ACCOUNT_STATUSES } from '#lib/accounts/schema.ts'
import { instant } from '#lib/fields.ts'

/** How an account stands, since when and why. */
export const AccountStanding = z.object({
  data: z.object({
    id: z.uuid(),
    status: z.enum(ACCOUNT_STATUSES),
    since: instant,
    reason: z.string().nullable(),
    by: z.string().nullable(),
  }),
})
