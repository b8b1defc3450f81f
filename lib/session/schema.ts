import type { AccountStatus, Role } from '#lib/accounts/schema.ts'

export interface SessionAccount {
  id: string
  name: string
  city: string
  expiresIn: number
  timeZone: string
  /** Amount in cents above which a member reviews a charge before it is created; null: none. */
  chargeReviewAbove: number | null
  status: AccountStatus
  statusReason: string | null
  /** Connections in live mode; null: it is closed, or pays nothing out. */
  receivingConnectionId: string | null
  payingConnectionId: string | null
  role: Role
}

export interface SessionUser {
  id: string
  sessionId: string
  /** Seconds since the last proof of identity, by sign-in or on request. */
  provedAgoS: number
  hasSecondFactor: boolean
  email: string
  /** Whether the e-mail is proven to be the user's; without it, the user is in no account. */
  isEmailVerified: boolean
  name: string
  isAdmin: boolean
  /** Language chosen on any device; null before the first choice. */
  locale: string | null
  /** Theme chosen on any device; null before the first choice. */
  theme: string | null
  /** For staff that views an account: only that one, with a role that reads. */
  accounts: SessionAccount[]
  viewing: Viewing | null
}

/** An account that staff views read-only: docs/decisions/051. */
export interface Viewing {
  accountId: string
  until: string
}

export const ACCOUNT_COOKIE = 'troco-account'

export const LOCALE_COOKIE = 'troco-locale'

export const THEMES = ['light', 'dark', 'system'] as const
export type Theme = (typeof THEMES)[number]
export const THEME_COOKIE = 'troco-theme'

/** Returns the page for a failed sign-in through a provider; `error` comes from outside. */
export function failedSignInPath(error: string | null | undefined): string {
  return `/login?error=${/^\w{1,40}$/.test(error ?? '') ? error : 'Unknown'}`
}

/** Returns a safe path of this site to open after sign-in, whatever was requested. */
export function safeRedirectPath(requested: unknown): string {
  if (typeof requested !== 'string' || !/^\/(?![/\\])[\x21-\x7e]*$/.test(requested)) return '/'
  const { origin, pathname, search } = new URL(requested, 'http://here')
  // The URL parser has resolved dot segments; the result may name another host (`//host`).
  const isAllowed = origin === 'http://here' && !/^\/(\/|(login|api|pay)(\/|$))/.test(pathname)
  return isAllowed ? pathname + search : '/'
}
