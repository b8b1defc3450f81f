import * as z from 'zod'
import { invalidInput } from '#lib/errors.ts'
import { must, text } from '#lib/fields.ts'

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
  locale: z.enum(['pt-BR', 'en'], must('be pt-BR or en')).optional(),
  theme: z.enum(['light', 'dark', 'system'], must('be light, dark or system')).optional(),
})
export type ProfileChange = z.infer<typeof ProfileChange>
export const profileChange = { test: ProfileChange, live: ProfileChange }
