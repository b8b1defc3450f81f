import * as z from 'zod'
import { instant } from '#lib/base/fields.ts'
import { ACCOUNT_STATUSES } from '#lib/rooms/accounts/schema.ts'

export const AccountStatusChange = z.object({
  data: z.object({
    id: z.uuid(),
    status: z.enum(ACCOUNT_STATUSES),
    since: instant,
    reason: z.string().nullable(),
    by: z.string().nullable(),
  }),
})
