import type { AccountStatus, Role } from '#lib/accounts/schema.ts'

export interface SessionAccount {
  id: string
  name: string
  city: string
  expiresIn: number
  status: AccountStatus
  role: Role
}

export interface SessionUser {
  id: string
  email: string
  name: string
  isAdmin: boolean
  accounts: SessionAccount[]
}

export const LOCALES = ['pt-BR', 'en'] as const
export type Locale = (typeof LOCALES)[number]
export const LOCALE_COOKIE = 'troco-locale'

export const THEMES = ['light', 'dark', 'system'] as const
export type Theme = (typeof THEMES)[number]
export const THEME_COOKIE = 'troco-theme'
