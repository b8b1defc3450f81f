import * as z from 'zod'
import { invalidInput } from '#lib/core/errors.ts'
import { instant, listOf, must, normalizeEmail, properName, text } from '#lib/core/fields.ts'
import { LOCALES } from '#lib/core/locale.ts'

export interface User {
  id: string
}

export function requireEmail(text: string): string {
  const email = normalizeEmail(text)
  if (email) return email
  throw invalidInput('email', 'must be an e-mail address such as ana@example.com')
}

/** Maximum active sessions of a user. One more ends the session that was unused for longest. */
export const SESSIONS_MAX = 50

const ProfileChange = z.object({
  full_name: properName(100).optional(),
  locale: z.enum(LOCALES, must(`be ${LOCALES.join(' or ')}`)).optional(),
  theme: z.enum(['light', 'dark', 'system'], must('be light, dark or system')).optional(),
})
export type ProfileChange = z.infer<typeof ProfileChange>
export const profileChange = { test: ProfileChange, live: ProfileChange }

/** A current password, without the length rules: older passwords may have had other rules. */
export const passwordProof = z.object({
  password: z.string(must('be a string')).min(1, must('not be empty')).max(1_024),
})

/** A code of the app (six digits) or a recovery code, with or without spaces and dash. */
export const codeProof = z.object({
  code: z
    .string(must('be a string'))
    .trim()
    .regex(/^[\w\s-]{6,30}$/, must('be a code of an authenticator app or a recovery code')),
})

const BASE64URL_RULE = 'be base64url'
const base64url = z.string(must(BASE64URL_RULE)).regex(/^[\w-]{1,8192}$/, must(BASE64URL_RULE))
const credential = {
  id: base64url,
  rawId: base64url,
  type: z.literal('public-key', must('be public-key')),
  // Troco requests no extensions, so results are dropped.
  clientExtensionResults: z.unknown().transform(() => ({})),
}

export const passkeyProof = z.object({
  challenge: base64url,
  passkey: z.object(
    {
      ...credential,
      response: z.object(
        {
          clientDataJSON: base64url,
          authenticatorData: base64url,
          signature: base64url,
          userHandle: base64url.optional(),
        },
        must('be an object'),
      ),
    },
    must('be the response of navigator.credentials.get'),
  ),
})
export type PasskeyProof = z.infer<typeof passkeyProof>

/** Request for passkey sign-in options: for the user of a challenge, or for any user. */
export const passkeyOptionsRequest = passkeyProof.pick({ challenge: true }).partial()

export const factorProof = codeProof.partial().extend(passkeyProof.partial().shape)
export type FactorProof = z.infer<typeof factorProof>

export const proofRequest = factorProof.extend(passwordProof.partial().shape)
export type ProofRequest = z.infer<typeof proofRequest>

/** Second factors of a sign-in. A recovery code counts as `code`. */
export type Factor = 'code' | 'passkey'
export type ProofMethod = 'password' | Factor

export interface ShownPasskey {
  id: string
  name: string
  createdAt: string
  lastUsedAt: string | null
}

export interface Factors {
  hasApp: boolean
  passkeys: ShownPasskey[]
  codesLeft: number
}

const NAME_MAX = 60
export const passkeyName = z.object({
  name: text(1, NAME_MAX),
})

export const newPasskey = passkeyName.extend({
  challenge: base64url,
  passkey: z.object(
    {
      ...credential,
      response: z.object(
        {
          clientDataJSON: base64url,
          attestationObject: base64url,
          transports: listOf(z.string().max(20), 10).optional(),
        },
        must('be an object'),
      ),
    },
    must('be the response of navigator.credentials.create'),
  ),
})
export type NewPasskey = z.infer<typeof newPasskey>

export const PASSWORD_MIN = 12
export const PASSWORD_MAX = 128
/** Maximum length before normalization, which can combine several characters into one. */
const TYPED_LENGTH_MAX = 1_024

/** Returns the length in characters after normalization, which also precedes hashing. */
export function passwordLength(password: string): number {
  return [...password.normalize('NFKC')].length
}

export function isPasswordLength(password: string): boolean {
  const length = passwordLength(password)
  return length >= PASSWORD_MIN && length <= PASSWORD_MAX
}

const PASSWORD_LENGTH_RULE = `have ${PASSWORD_MIN} to ${PASSWORD_MAX} characters`

/** A new password, checked for its length. Only the server checks whether it is easy to guess. */
export const newPassword = z
  .string(must('be a string'))
  .max(TYPED_LENGTH_MAX, must(PASSWORD_LENGTH_RULE))
  .refine(isPasswordLength, must(PASSWORD_LENGTH_RULE))

/** `current` is absent for users without a password, who sign in by OpenID. */
export const passwordChange = z.object({
  current: z
    .string(must('be a string'))
    .max(TYPED_LENGTH_MAX, must(PASSWORD_LENGTH_RULE))
    .optional(),
  password: newPassword,
})
export type PasswordChange = z.infer<typeof passwordChange>

export const resetRequest = z.object({
  email: z
    .string(must('be a string'))
    .max(TYPED_LENGTH_MAX, must('be an e-mail address'))
    .refine(text => normalizeEmail(text) !== null, must('be an e-mail address')),
})

export const emailConfirmation = z.object({
  secret: z.string(must('be a string')).max(100, must('be the secret of a mailed link')),
})

export const resetConfirmation = z.object({
  secret: z.string(must('be a string')).max(100, must('be the secret of a reset link')),
  password: newPassword,
})
export type ResetConfirmation = z.infer<typeof resetConfirmation>

export const Device = z.object({
  id: z.uuid(),
  browser: z.string().nullable(),
  system: z.string().nullable(),
  ip: z.string().nullable(),
  created_at: instant,
  last_used_at: instant,
  is_this: z.boolean(),
})
export type Device = z.infer<typeof Device>

const TOKEN_ACTION = 'be adopt or revoke'
/** More do not fit into a body. */
const DECISIONS_MAX = 1_000
const DECISIONS = 'be a list of tokens, each with its id and the action adopt or revoke'

/** Decisions about tokens whose issuer loses a role or the membership: adopt or revoke each. */
export const tokenDecisions = listOf(
  z.object({
    id: z.uuid(must('be the id of a token')),
    action: z.enum(['adopt', 'revoke'], must(TOKEN_ACTION)),
  }),
  DECISIONS_MAX,
  { rule: DECISIONS },
).optional()
export type TokenDecision = NonNullable<z.infer<typeof tokenDecisions>>[number]

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

export const CodesRenewed = z.object({
  data: z.object({ recovery_codes: z.array(z.string()) }),
})

export const ProofMethods = z.object({
  data: z.object({ methods: z.array(z.enum(['password', 'code', 'passkey'])) }),
})
