import { cookies, headers } from 'next/headers'
import { forbidden, notFound, redirect } from 'next/navigation'
import { cache } from 'react'
import { connectionIn } from '#lib/banks/served.ts'
import { PATH_HEADER } from '#lib/core/headers.ts'
import { MODES, type Mode } from '#lib/core/mode.ts'
import { hideTaxIds } from '#lib/core/pix/hide-tax-ids.ts'
import { isSecondFactorMissing } from '#lib/people/factors.ts'
import { hasPermission, PAGE_NEEDS, type PageName } from '#lib/people/roles.ts'
import { cookieNames, readSession } from '#lib/session/read.ts'
import { ACCOUNT_COOKIE, type SessionAccount, type SessionUser } from '#lib/session/schema.ts'

/** Returns the user who is signed in, read once per request; null: a visitor. */
export const currentUser = cache(async (): Promise<SessionUser | null> => {
  const secret = (await cookies()).get(cookieNames().session)?.value
  return secret ? readSession(secret) : null
})

/** Returns the account that was chosen last, else the first. */
export async function chooseAccount({ accounts }: SessionUser): Promise<SessionAccount | null> {
  const chosen = (await cookies()).get(ACCOUNT_COOKIE)?.value
  return accounts.find(({ id }) => id === chosen) ?? accounts[0] ?? null
}

/**
 * Guards pages of signed-in users: a visitor signs in first and then returns to the page. A user who
 * has not proven the e-mail does so first, except staff, who must reach the mail server's check.
 */
export async function requireUser(): Promise<SessionUser> {
  const user = await requireSession()
  return user.isEmailVerified || user.isAdmin ? user : redirect('/verify')
}

/** Guards the pages that prove an e-mail. */
export async function requireSession(): Promise<SessionUser> {
  const user = await currentUser()
  if (user) return user
  const { pathname, searchParams } = new URL(
    (await headers()).get(PATH_HEADER) ?? '/',
    'http://here',
  )
  searchParams.delete('_rsc')
  const query = searchParams.size > 0 ? `?${searchParams}` : ''
  return redirect(`/login?next=${encodeURIComponent(pathname + query)}`)
}

export interface Member {
  user: SessionUser
  account: SessionAccount
  mode: Mode
}

/** Guards /test and /live: without an account or an open mode, redirects to Home. */
export async function requireMember(params: Promise<{ mode: string }>): Promise<Member> {
  const mode = requireMode((await params).mode)
  const user = await requireUser()
  const account = await chooseAccount(user)
  if (!account || !isModeOpen(mode, account)) redirect(`/${mode}/home`)
  return { user, account, mode }
}

/** Test mode always is; live mode if the account has a connection to a bank. */
export function isModeOpen(mode: Mode, account: SessionAccount): boolean {
  const { receivingConnectionId, payingConnectionId } = account
  return connectionIn(mode, receivingConnectionId ?? payingConnectionId) !== null
}

/** Masks documents in what a page shows to staff that views an account, as the API does. */
export function hideFromViewer<Data>({ viewing }: SessionUser, data: Data): Data {
  return viewing ? hideTaxIds(data) : data
}

/** Guards a page for an action: members without the permission learn what it needs and whom to ask. */
export async function requirePermission(
  params: Promise<{ mode: string }>,
  page: PageName,
): Promise<Member> {
  const member = await requireMember(params)
  return hasPermission(member.account.role, PAGE_NEEDS[page]) ? member : forbidden()
}

export function requireMode(value: string): Mode {
  return MODES.find(known => known === value) ?? notFound()
}

/** Other users get a 404; staff without a required second factor are redirected to set one up. */
export async function requireAdmin(): Promise<SessionUser> {
  const user = await requireUser()
  if (!user.isAdmin) return notFound()
  return isSecondFactorMissing(user) ? redirect('/test/settings/security') : user
}

export function landingPath(user: SessionUser | null): string {
  if (!user) return '/login'
  return user.isAdmin && user.accounts.length === 0 ? '/admin' : '/test/home'
}
