import { cookies } from 'next/headers'
import { cache } from 'react'
import { cookieNames } from '#lib/session/cookie.ts'
import { readSession } from '#lib/session/read.ts'
import type { SessionUser } from '#lib/session/schema.ts'

export const currentUser = cache(async (): Promise<SessionUser | null> => {
  const secret = (await cookies()).get(cookieNames().session)?.value
  return secret ? readSession(secret) : null
})
