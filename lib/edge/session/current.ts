import { cookies } from 'next/headers'
import { cache } from 'react'
import { cookieNames } from '#lib/edge/session/cookie.ts'
import { readSession } from '#lib/edge/session/read.ts'
import type { SessionUser } from '#lib/edge/session/schema.ts'

/** Who is signed in, read once per request; null for a visitor. */
export const currentUser = cache(async (): Promise<SessionUser | null> => {
  const secret = (await cookies()).get(cookieNames().session)?.value
  return secret ? readSession(secret) : null
})
