import * as z from 'zod'
import { invalidInput } from '#lib/base/errors.ts'
import { instant, must, text } from '#lib/base/fields.ts'
import { LOCALES } from '#lib/base/locale.ts'

// ASCII only: an e-mail that merely looks like another one must not become a second user.
const EMAIL = /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/

/** The one spelling of an e-mail address under which a user is kept; null when it is none. */
export function normalizeEmail(text: string): string | null {
  const email = text.normalize('NFKC').trim().toLowerCase()
  return email.length <= 254 && EMAIL.test(email) ? email : null
}

export interface User {
  id: string
}

export function requireEmail(text: string): string {
  const email = normalizeEmail(text)
  if (email) return email
  throw invalidInput('email', 'must be an e-mail address such as ana@example.com')
}

const ProfileChange = z.object({
  full_name: text(1, 100)
    .regex(/^[^\p{C}]+$/u, must('be on one line'))
    .optional(),
  locale: z.enum(LOCALES, must(`be ${LOCALES.join(' or ')}`)).optional(),
  theme: z.enum(['light', 'dark', 'system'], must('be light, dark or system')).optional(),
})
export type ProfileChange = z.infer<typeof ProfileChange>
export const profileChange = { test: ProfileChange, live: ProfileChange }

/** Any length: what was chosen once under other rules must still be taken. */
export const passwordProof = z.object({
  password: z.string(must('be a string')).min(1, must('be filled in')).max(1_024),
})

/** Six digits of the app, or a recovery code, however either was typed. */
export const codeProof = z.object({
  code: z
    .string(must('be a string'))
    .trim()
    .regex(/^[\w\s-]{6,30}$/, must('be a code')),
})

const ENCODED = 'be base64url'
const encoded = z.string(must(ENCODED)).regex(/^[\w-]{1,8192}$/, must(ENCODED))
const credential = {
  id: encoded,
  rawId: encoded,
  type: z.literal('public-key', must('be public-key')),
  // Nothing of it is asked for, so nothing of it is kept.
  clientExtensionResults: z.unknown().transform(() => ({})),
}

/** The secret of what was asked, and what the browser made of it. */
export const passkeyProof = z.object({
  challenge: encoded,
  passkey: z.object(
    {
      ...credential,
      response: z.object(
        {
          clientDataJSON: encoded,
          authenticatorData: encoded,
          signature: encoded,
          userHandle: encoded.optional(),
        },
        must('be an object'),
      ),
    },
    must('be what the browser answered'),
  ),
})
export type PasskeyProof = z.infer<typeof passkeyProof>

/** Of whom a passkey is asked: of who answers a challenge of ours, or of anybody. */
export const passkeyAsk = passkeyProof.pick({ challenge: true }).partial()

/** By nothing less than a second factor. */
export const factorAnswer = codeProof.partial().extend(passkeyProof.partial().shape)
export type FactorAnswer = z.infer<typeof factorAnswer>

export const proofRequest = factorAnswer.extend(passwordProof.partial().shape)
export type ProofRequest = z.infer<typeof proofRequest>

/** What signing in can ask for beside the password. */
export type Factor = 'code' | 'passkey'
export type ProofMethod = 'password' | Factor

export interface ShownPasskey {
  id: string
  name: string
  createdAt: string
  lastUsedAt: string | null
}

/** All that the page of a person's own security shows of what they sign in with. */
export interface Factors {
  hasApp: boolean
  passkeys: ShownPasskey[]
  codesLeft: number
}

const NAME_MAX = 60
export const passkeyName = z.object({
  name: text(1, NAME_MAX).regex(/^[^\p{C}]+$/u, must('be on one line')),
})

export const newPasskey = passkeyName.extend({
  challenge: encoded,
  passkey: z.object(
    {
      ...credential,
      response: z.object(
        {
          clientDataJSON: encoded,
          attestationObject: encoded,
          transports: z.array(z.string().max(20)).max(10).optional(),
        },
        must('be an object'),
      ),
    },
    must('be what the browser made'),
  ),
})
export type NewPasskey = z.infer<typeof newPasskey>

export const PASSWORD_MIN = 12
export const PASSWORD_MAX = 128
/** Of what is sent: what looks like one character may have been typed as several. */
const TYPED_MAX = 1_024

/** As it is kept: the same characters typed on another keyboard are as many. */
export function passwordLength(password: string): number {
  return [...password.normalize('NFKC')].length
}

export function isPasswordLength(password: string): boolean {
  const length = passwordLength(password)
  return length >= PASSWORD_MIN && length <= PASSWORD_MAX
}

const LENGTH = `have ${PASSWORD_MIN} to ${PASSWORD_MAX} characters`

/** A password that is being chosen. Whether it is easy to guess, only the server can say. */
export const newPassword = z
  .string(must('be a string'))
  .max(TYPED_MAX, must(LENGTH))
  .refine(isPasswordLength, must(LENGTH))

/** Somebody who came in by OpenID alone has no current one. */
export const passwordChange = z.object({
  current: z.string(must('be a string')).max(TYPED_MAX, must(LENGTH)).optional(),
  password: newPassword,
})
export type PasswordChange = z.infer<typeof passwordChange>

export const resetRequest = z.object({
  email: z
    .string(must('be a string'))
    .max(TYPED_MAX, must('be an e-mail address'))
    .refine(text => normalizeEmail(text) !== null, must('be an e-mail address')),
})

export const resetAnswer = z.object({
  secret: z.string(must('be a string')).max(100, must('be the one of the mail')),
  password: newPassword,
})
export type ResetAnswer = z.infer<typeof resetAnswer>

/** Somewhere a person is signed in. */
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
