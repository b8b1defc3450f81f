import type { Role } from '#lib/accounts/schema.ts'

export const PERSON_FILTERS = ['staff', 'without_factor', 'unverified', 'disabled'] as const
export type PersonFilter = (typeof PERSON_FILTERS)[number]

export interface PersonLine {
  id: string
  name: string
  email: string
  is_admin: boolean
  is_email_verified: boolean
  is_disabled: boolean
  has_second_factor: boolean
  account_count: number
  created_at: string
  /** Null: the user never signed in. */
  last_used_at: string | null
}

export interface PersonDetail extends PersonLine {
  session_count: number
  accounts: { id: string; name: string; role: Role }[]
}
