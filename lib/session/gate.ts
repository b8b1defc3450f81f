import { cookies } from 'next/headers'
import { notFound, redirect } from 'next/navigation'
import { cache } from 'react'
import { cookieNames } from '#lib/session/cookie.ts'
import { readSession } from '#lib/session/read.ts'
import type { SessionUser } from '#lib/session/schema.ts'

/** Who is signed in, read once per request; null for a visitor. */
export const currentUser = cache(async (): Promise<SessionUser | null> => {
  const secret = (await cookies()).get(cookieNames().session)?.value
  return secret ? readSession(secret) : null
})

/** The gate of every page of ours: a visitor without a session goes to sign in. */
export async function requireUser(): Promise<SessionUser> {
  return (await currentUser()) ?? redirect('/login')
}

/** The gate of the operator's pages. For everybody else they do not exist. */
export async function requireAdmin(): Promise<SessionUser> {
  const user = await requireUser()
  return user.isAdmin ? user : notFound()
}

/** The page that a person starts on. */
export function firstPage(user: SessionUser | null): string {
  if (!user) return '/login'
  return user.isAdmin && user.accounts.length === 0 ? '/admin/accounts' : '/test/home'
}
