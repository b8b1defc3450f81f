import { cookies, headers } from 'next/headers'
import type { NextRequest } from 'next/server'
import type { NextAuthOptions } from 'next-auth'
import { decode, encode, type JWT } from 'next-auth/jwt'
import CredentialsProvider from 'next-auth/providers/credentials'
import { ADDRESS_HEADER, REQUEST_ID_HEADER } from '#lib/core/headers.ts'
import { Invariant } from '#lib/core/invariant.ts'
import { deriveKey } from '#lib/core/keys.ts'
import { log, withLogContext } from '#lib/core/log.ts'
import { env } from '#lib/core/settings.ts'
import { endSession, openSession, SESSION_SECONDS_MAX } from '#lib/people/sessions.ts'
import { openidCallbacks, openidProviders } from '#lib/session/openid.ts'
import { cookieNames, readSession } from '#lib/session/read.ts'
import { addDeviceMark, readDeviceMarks, type SignInDetails, signIn } from '#lib/session/sign-in.ts'

declare module 'next-auth/jwt' {
  interface JWT {
    /** Value of the session cookie; set once the session is stored. */
    secret?: string
    /** Times of a sign-in through OpenID, which may have removed all credentials just before. */
    openid?: { checkedAt: Date; provedAt: Date }
  }
}

/** Builds the options for one request. `details` receives results that next-auth cannot return. */
export function authOptions(details: SignInDetails): NextAuthOptions {
  const beganAt = new Date()
  const names = cookieNames()
  const cookie = (name: string) => ({
    name,
    options: { httpOnly: true, sameSite: 'lax', path: '/', secure: names.secure },
  })
  return {
    secret: deriveKey('next-auth').export().toString('base64url'),
    pages: { signIn: '/login', signOut: '/login', error: '/login' },
    providers: [credentialsProvider(details), ...openidProviders()],
    callbacks: { ...openidCallbacks(), redirect: ({ url, baseUrl }) => ownUrl(url, baseUrl) },
    session: { strategy: 'jwt', maxAge: SESSION_SECONDS_MAX },
    // With a salt, the token is not the session but the state of an OpenID sign-in.
    jwt: {
      encode: params => (params.salt ? encode(params) : ensureSession(params.token, beganAt)),
      decode: params => (params.salt ? decode(params) : readSessionToken(params.token)),
    },
    events: { signOut: ({ token }) => (token?.secret ? endSession(token.secret) : undefined) },
    useSecureCookies: names.secure,
    cookies: {
      sessionToken: cookie(names.session),
      csrfToken: cookie(names.csrf),
      callbackUrl: cookie(names.callback),
      state: cookie(`${names.openid}-state`),
      nonce: cookie(`${names.openid}-nonce`),
      pkceCodeVerifier: cookie(`${names.openid}-pkce`),
    },
    logger: {
      // An ended session is not an error: browsers may send its cookie for days.
      error: (code, metadata) =>
        code === 'JWT_SESSION_ERROR'
          ? log().debug({ code }, 'session cookie is no longer valid')
          : log().error({ code, err: findError(metadata) }, 'next-auth error'),
      warn: code => log().warn({ code }, 'next-auth warning'),
      debug: () => {},
    },
  }
}

function credentialsProvider(details: SignInDetails) {
  const names = ['email', 'password', 'challenge', 'code', 'passkey'] as const
  return CredentialsProvider({
    credentials: Object.fromEntries(names.map(name => [name, {}])),
    async authorize(credentials) {
      const [requestHeaders, cookieStore] = await Promise.all([headers(), cookies()])
      const marks = readDeviceMarks(cookieStore)
      const ip = requestHeaders.get(ADDRESS_HEADER)
      const requestId = requestHeaders.get(REQUEST_ID_HEADER) ?? undefined
      const texts = names.filter(name => typeof credentials?.[name] === 'string')
      const textCredentials = Object.fromEntries(texts.map(name => [name, credentials?.[name]]))
      return withLogContext({ requestId, ip }, () => signIn(textCredentials, ip, details, marks))
    },
  })
}

/** Returns the token's session secret; if absent, replaces this browser's session by a new one. */
async function ensureSession(token: JWT | undefined, beganAt: Date): Promise<string> {
  if (token?.secret) return token.secret
  if (!token?.sub) throw new Invariant('a session needs a user')
  const [requestHeaders, cookieStore] = await Promise.all([headers(), cookies()])
  const previous = cookieStore.get(cookieNames().session)?.value
  if (previous) await endSession(previous)
  const caller = {
    ip: requestHeaders.get(ADDRESS_HEADER),
    userAgent: requestHeaders.get('user-agent'),
    provedAt: token.openid?.provedAt,
    isByOpenid: token.openid !== undefined,
  }
  const secret = await openSession(token.sub, caller, token.openid?.checkedAt ?? beganAt)
  const { name, value, ...options } = addDeviceMark(
    token.sub,
    readDeviceMarks(cookieStore),
    beganAt,
  )
  cookieStore.set(name, value, options)
  return secret
}

async function readSessionToken(secret: string | undefined): Promise<JWT | null> {
  const user = secret ? await readSession(secret) : null
  return user && { sub: user.id, name: user.name, email: user.email, secret }
}

function findError(metadata: Error | { error?: Error }): Error | undefined {
  return metadata instanceof Error ? metadata : metadata.error
}

/** Returns the response to a request on which next-auth would fail; null if it may proceed. */
export function refuseAuthRequest(request: NextRequest, segments: string[]): Response | null {
  const [action, provider] = segments
  // next-auth lets anyone write to the server's log through this route, and throws on some texts.
  if (action === '_log') return new Response(null, { status: 404 })
  // It responds 500 to a password sign-in by GET, and to a callback URL that is not a URL.
  if (action === 'callback' && provider === 'credentials' && request.method === 'GET')
    return new Response(null, { status: 405, headers: { allow: 'POST' } })
  const callbackUrls = [
    ...request.nextUrl.searchParams.getAll('callbackUrl'),
    request.cookies.get(cookieNames().callback)?.value ?? '',
  ]
  if (callbackUrls.every(url => url === '' || isWebUrl(url))) return null
  return Response.json({ error: 'Malformed request' }, { status: 400 })
}

/** Returns the server's root for foreign URLs. next-auth's default callback throws on non-URLs. */
function ownUrl(requested: unknown, baseUrl: string): string {
  const url = typeof requested === 'string' ? URL.parse(requested, baseUrl) : null
  return url?.origin === baseUrl ? url.href : baseUrl
}

function isWebUrl(text: string): boolean {
  const url = URL.parse(text, text.startsWith('/') ? env().PUBLIC_URL : undefined)
  return url !== null && /^https?:$/.test(url.protocol)
}
