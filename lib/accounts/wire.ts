import * as z from 'zod'
import { about } from '#lib/fields.ts'

export const AccountRead = z
  .object({
    name: z.string().meta(about('Name of the account.', 'Loja Aurora')),
    balance: z.int().meta(about("What may be withdrawn in the token's mode, in cents.", 1840217)),
  })
  .meta({ id: 'Account' })

/** What the settings of an account are, for our own pages. */
export const AccountSettings = z.object({
  data: z.object({
    id: z.uuid(),
    name: z.string(),
    city: z.string(),
    expires_in: z.int(),
    time_zone: z.string(),
  }),
})
