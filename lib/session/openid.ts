import { cookies, headers } from 'next/headers'
import type { CallbacksOptions, Profile } from 'next-auth'
import type { OAuthConfig } from 'next-auth/providers/oauth'
import { admitPending } from '#lib/accounts/members.ts'
import { ADDRESS_HEADER, REQUEST_ID_HEADER } from '#lib/core/headers.ts'
import { withLogContext } from '#lib/core/log.ts'
import { env } from '#lib/core/settings.ts'
import { readChallenge } from '#lib/people/factors.ts'
import { type Claims, findByOpenid, linkOpenid } from '#lib/people/openid.ts'
import { cookieNames, readSession } from '#lib/session/read.ts'
import { completeSignIn, openSecondFactorChallenge, type SecondStep } from '#lib/session/sign-in.ts'

/** Id of the provider in URLs, for example in its callback URL. */
export const OPENID_PROVIDER_ID = 'openid'
/** Lifetime of the cookie, equal to the lifetime of the challenge that it contains. */
const STEP_SECONDS = 300
/** How far the provider's clock may be ahead. */
const CLOCK_SKEW_MS = 60_000
/** Proof of a session that has none: too old for every action. */
const NEVER = new Date(0)

export function openidProviders(): OAuthConfig<Claims>[] {
  const { OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, OIDC_NAME } = env()
  if (!OIDC_ISSUER || !OIDC_CLIENT_ID || !OIDC_CLIENT_SECRET) return []
  return [
    {
      id: OPENID_PROVIDER_ID,
      name: OIDC_NAME,
      type: 'oauth',
      wellKnown: `${trimSlashes(OIDC_ISSUER)}/.well-known/openid-configuration`,
      clientId: OIDC_CLIENT_ID,
      clientSecret: OIDC_CLIENT_SECRET,
      authorization: { params: { scope: 'openid email' } },
      idToken: true,
      checks: ['pkce', 'state', 'nonce'],
      userinfo: {
        // Some providers return the e-mail only from the userinfo endpoint.
        async request({ tokens, client }) {
          const tokenSet = tokens as unknown as Exclude<
            Parameters<typeof client.userinfo>[0],
            string
          >
          const claims = tokenSet.claims()
          const { auth_time } = claims
          return (
            claims.email ? claims : { ...(await client.userinfo(tokenSet)), ...claims, auth_time }
          ) as Profile
        },
      },
      profile: ({ sub }) => ({ id: String(sub) }),
    },
  ]
}

/** Connects the two callbacks of one request: `jwt` uses the user found in `signIn`. */
export function openidCallbacks(): Pick<CallbacksOptions, 'signIn' | 'jwt'> {
  let userId: string | undefined
  let provedAt = NEVER
  return {
    async signIn({ account, profile }) {
      if (account?.provider !== OPENID_PROVIDER_ID) return true
      const requestHeaders = await headers()
      const requestId = requestHeaders.get(REQUEST_ID_HEADER) ?? undefined
      const ip = requestHeaders.get(ADDRESS_HEADER)
      const claims = (profile ?? {}) as Claims
      const outcome = await withLogContext({ requestId, ip }, () => resolveSignIn(claims))
      userId = outcome.userId
      provedAt = readAuthTime(claims)
      return outcome.path ?? true
    },
    jwt: async ({ token }) =>
      userId ? { ...token, sub: userId, openid: { checkedAt: new Date(), provedAt } } : token,
  }
}

/**
 * Returns when the user entered credentials at the provider. Without this time a sign-in proves no
 * identity: a provider that still knows the browser signs in any person who uses it.
 */
function readAuthTime({ auth_time }: Claims): Date {
  if (typeof auth_time !== 'number' || auth_time < 0) return NEVER
  const now = Date.now()
  return auth_time * 1000 > now + CLOCK_SKEW_MS ? NEVER : new Date(Math.min(auth_time * 1000, now))
}

/** Returns the user, or the path of a page for the refusal or the second factor. */
async function resolveSignIn(claims: Claims): Promise<{ userId?: string; path?: string }> {
  const isFromIssuer =
    typeof claims.iss === 'string' &&
    trimSlashes(claims.iss) === trimSlashes(env().OIDC_ISSUER ?? '')
  const linkPath = isFromIssuer ? await completeLink(claims) : null
  if (linkPath) return { path: linkPath }
  const found = isFromIssuer
    ? await findByOpenid(claims, admitPending)
    : ({ refusal: 'unknown' } as const)
  if ('refusal' in found) return { path: `/login?problem=${found.refusal}` }
  const step = await openSecondFactorChallenge(found.userId)
  if (step) return { path: await storeStep(step) }
  const person = await completeSignIn(found.userId, 'oidc')
  return person ? { userId: person.id } : { path: '/login?problem=unknown' }
}

/** Links the provider if the session of this browser requested it. Returns the page to open. */
async function completeLink(claims: Claims): Promise<string | null> {
  const secret = (await cookies()).get(cookieNames().session)?.value
  const user = secret ? await readSession(secret) : null
  const outcome = user && (await linkOpenid(user, claims, admitPending))
  return outcome && `/test/settings/security?openid=${outcome}`
}

/** Stores the step in a cookie, because URLs are logged and remain in the browser's history. */
async function storeStep(step: SecondStep): Promise<string> {
  const cookieStore = await cookies()
  const { secure, callback, step: name } = cookieNames()
  const options = {
    httpOnly: true,
    sameSite: 'lax',
    path: '/',
    maxAge: STEP_SECONDS,
    secure,
  } as const
  cookieStore.set(name, JSON.stringify(step), options)
  const target = URL.parse(cookieStore.get(callback)?.value ?? '', env().PUBLIC_URL)
  return `/login?next=${encodeURIComponent(target ? target.pathname + target.search : '/')}`
}

export async function readPendingStep(): Promise<SecondStep | null> {
  const text = (await cookies()).get(cookieNames().step)?.value
  if (!text) return null
  try {
    const step = JSON.parse(text) as SecondStep
    return (await readChallenge('second_factor', String(step.challenge))) ? step : null
  } catch {
    return null
  }
}

function trimSlashes(issuer: string): string {
  return issuer.replace(/(?<!\/)\/+$/, '')
}
