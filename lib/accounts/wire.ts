import * as z from 'zod'

export const AccountRead = z.object({ name: z.string(), balance: z.int() })
