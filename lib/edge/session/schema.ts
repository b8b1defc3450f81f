import type { AccountStatus, Role } from '#lib/rooms/accounts/schema.ts'

export interface SessionAccount {
  id: string
  name: string
  city: string
  expiresIn: number
  timeZone: string
  status: AccountStatus
  /** Why it was brought into this state; null where nobody said. */
  statusReason: string | null
  role: Role
}

export interface SessionUser {
  id: string
  /** This very session, of the several that a person may have. */
  sessionId: string
  /** How long ago they last proved who they are: by signing in, or when asked again. */
  provedAgoS: number
  /** Whether signing in takes more of them than a password. */
  hasSecondFactor: boolean
  email: string
  name: string
  isAdmin: boolean
  /** What they chose, wherever it was; null until they did. */
  locale: string | null
  theme: string | null
  accounts: SessionAccount[]
}

/** Which of a person's accounts the pages show. */
export const ACCOUNT_COOKIE = 'troco-account'

export const LOCALE_COOKIE = 'troco-locale'

export const THEMES = ['light', 'dark', 'system'] as const
export type Theme = (typeof THEMES)[number]
export const THEME_COOKIE = 'troco-theme'

/** Where a sign-in by way of a provider ends that failed; what is said of it may be anything. */
export function failedSignIn(error: string | null | undefined): string {
  return `/login?error=${/^\w{1,40}$/.test(error ?? '') ? error : 'Unknown'}`
}

/** Where to go after signing in: an address of our own pages, whatever it was asked to be. */
export function safeNext(wanted: unknown): string {
  if (typeof wanted !== 'string' || !/^\/(?![/\\])[\x21-\x7e]*$/.test(wanted)) return '/'
  const { origin, pathname, search } = new URL(wanted, 'http://here')
  // Dots are gone from it by now, and what they leave may be the name of another host.
  const isOurs = origin === 'http://here' && !/^\/(\/|(login|api|pay)(\/|$))/.test(pathname)
  return isOurs ? pathname + search : '/'
}
