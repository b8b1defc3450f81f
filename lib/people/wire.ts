import * as z from 'zod'

export const Profile = z.object({
  data: z.object({
    id: z.uuid(),
    email: z.string(),
    full_name: z.string(),
    locale: z.string().nullable(),
    theme: z.string().nullable(),
  }),
})
