import { cookies, headers } from 'next/headers'
import type { NextAuthOptions } from 'next-auth'
import type { JWT } from 'next-auth/jwt'
import CredentialsProvider from 'next-auth/providers/credentials'
import { ADDRESS_HEADER } from '#lib/headers.ts'
import { keyFor } from '#lib/keys.ts'
import { log } from '#lib/log.ts'
import { authenticate } from '#lib/session/authenticate.ts'
import { cookieNames } from '#lib/session/cookie.ts'
import { endSession, openSession, SESSION_SECONDS_MAX } from '#lib/session/open.ts'
import { readSession } from '#lib/session/read.ts'

declare module 'next-auth/jwt' {
  interface JWT {
    /** The cookie's value; set once the session has its row. */
    secret?: string
  }
}

/** Made anew at each request, since a build has no environment. */
export function authOptions(): NextAuthOptions {
  const names = cookieNames()
  const cookie = (name: string) => ({
    name,
    options: { httpOnly: true, sameSite: 'lax', path: '/', secure: names.secure },
  })
  return {
    secret: keyFor('next-auth').export().toString('base64url'),
    pages: { signIn: '/login', signOut: '/login', error: '/login' },
    providers: [passwordProvider()],
    session: { strategy: 'jwt', maxAge: SESSION_SECONDS_MAX },
    jwt: { encode: ({ token }) => secretOf(token), decode: ({ token }) => tokenOf(token) },
    events: { signOut: ({ token }) => (token?.secret ? endSession(token.secret) : undefined) },
    useSecureCookies: names.secure,
    cookies: {
      sessionToken: cookie(names.session),
      csrfToken: cookie(names.csrf),
      callbackUrl: cookie(names.callback),
    },
    logger: {
      // A session that has ended is no fault, and its cookie may come back for days.
      error: (code, metadata) =>
        code === 'JWT_SESSION_ERROR'
          ? log().debug({ code }, 'an ended session was shown')
          : log().error({ code, err: errorIn(metadata) }, 'next-auth failed'),
      warn: code => log().warn({ code }, 'next-auth warns'),
      debug: () => {},
    },
  }
}

function passwordProvider() {
  return CredentialsProvider({
    credentials: { email: { type: 'email' }, password: { type: 'password' } },
    async authorize(given) {
      const address = (await headers()).get(ADDRESS_HEADER)
      const attempt = { email: String(given?.email ?? ''), address }
      return authenticate(attempt, String(given?.password ?? ''))
    },
  })
}

/** At sign-in it opens the session, and ends the one that this browser had; later it is the same. */
async function secretOf(token: JWT | undefined): Promise<string> {
  if (token?.secret) return token.secret
  if (!token?.sub) throw new TypeError('A session needs a user')
  const [sent, kept] = await Promise.all([headers(), cookies()])
  const previous = kept.get(cookieNames().session)?.value
  if (previous) await endSession(previous)
  return openSession(token.sub, { ip: sent.get(ADDRESS_HEADER), userAgent: sent.get('user-agent') })
}

async function tokenOf(secret: string | undefined): Promise<JWT | null> {
  const user = secret ? await readSession(secret) : null
  return user && { sub: user.id, name: user.name, email: user.email, secret }
}

function errorIn(metadata: Error | { error?: Error }): Error | undefined {
  return metadata instanceof Error ? metadata : metadata.error
}
