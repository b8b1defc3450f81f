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

export const PasskeyOptions = z.object({
  data: z.object({ challenge: z.string(), options: z.looseObject({ challenge: z.string() }) }),
})

export const AuthenticatorSecret = z.object({
  data: z.object({ secret: z.string(), uri: z.string() }),
})

/** `recovery_codes` is set only when the first factor is added. */
export const FactorAdded = z.object({
  data: z.object({ recovery_codes: z.array(z.string()).nullable() }),
})

export const ProofMethods = z.object({
  data: z.object({ methods: z.array(z.enum(['password', 'code', 'passkey'])) }),
})

export const EmptyResponse = z.object({ data: z.object({}) })
