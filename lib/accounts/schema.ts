import { invalidInput } from '#lib/errors.ts'

/**
 * active: everything works. pending: waits for an admin. suspended: its tokens are refused and its
 * people may only read; money already on its way still arrives.
 */
export const ACCOUNT_STATUSES = ['active', 'pending', 'suspended'] as const
export type AccountStatus = (typeof ACCOUNT_STATUSES)[number]

export type Role = 'owner' | 'finance' | 'developer' | 'viewer'

export interface Account {
  id: string
  name: string
  city: string
  status: AccountStatus
  expiresIn: number
}

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
