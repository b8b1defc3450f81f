import { cookies, headers } from 'next/headers'
import type { CallbacksOptions, Profile } from 'next-auth'
import type { OAuthConfig } from 'next-auth/providers/oauth'
import { env } from '#lib/base/env.ts'
import { ADDRESS_HEADER, REQUEST_ID_HEADER } from '#lib/base/headers.ts'
import { withLogContext } from '#lib/base/log.ts'
import { cookieNames } from '#lib/edge/session/cookie.ts'
import { askSecondFactor, type SecondStep } from '#lib/edge/session/second-step.ts'
import { readChallenge } from '#lib/services/people/challenge.ts'
import { completeSignIn } from '#lib/services/people/let-in.ts'
import { type Claims, findByOpenid } from '#lib/services/people/openid.ts'

/** Id of the provider in URLs, among them its callback URL. */
export const OPENID = 'openid'
/** Lifetime of the cookie, equal to that of the challenge in it. */
const STEP_SECONDS = 300

export function openidProviders(): OAuthConfig<Claims>[] {
  const { OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, OIDC_NAME } = env()
  if (!OIDC_ISSUER || !OIDC_CLIENT_ID || !OIDC_CLIENT_SECRET) return []
  return [
    {
      id: OPENID,
      name: OIDC_NAME,
      type: 'oauth',
      wellKnown: `${bare(OIDC_ISSUER)}/.well-known/openid-configuration`,
      clientId: OIDC_CLIENT_ID,
      clientSecret: OIDC_CLIENT_SECRET,
      authorization: { params: { scope: 'openid email' } },
      idToken: true,
      checks: ['pkce', 'state', 'nonce'],
      userinfo: {
        // Some providers return the e-mail only from the userinfo endpoint.
        async request({ tokens, client }) {
          const set = tokens as unknown as Exclude<Parameters<typeof client.userinfo>[0], string>
          const claims = set.claims()
          return (claims.email ? claims : { ...(await client.userinfo(set)), ...claims }) as Profile
        },
      },
      profile: ({ sub }) => ({ id: String(sub) }),
    },
  ]
}

/** Connects the two callbacks of one request: the person found in `signIn` is used in `jwt`. */
export function openidCallbacks(): Pick<CallbacksOptions, 'signIn' | 'jwt'> {
  let userId: string | undefined
  return {
    async signIn({ account, profile }) {
      if (account?.provider !== OPENID) return true
      const sent = await headers()
      const requestId = sent.get(REQUEST_ID_HEADER) ?? undefined
      const ip = sent.get(ADDRESS_HEADER)
      const admitted = await withLogContext({ requestId, ip }, () =>
        admit((profile ?? {}) as Claims),
      )
      userId = admitted.userId
      return admitted.path ?? true
    },
    jwt: async ({ token }) => (userId ? { ...token, sub: userId } : token),
  }
}

/** Returns the user, or a page that explains the refusal or asks for the second factor. */
async function admit(claims: Claims): Promise<{ userId?: string; path?: string }> {
  const isTheirs =
    typeof claims.iss === 'string' && bare(claims.iss) === bare(env().OIDC_ISSUER ?? '')
  const found = isTheirs ? await findByOpenid(claims) : ({ refusal: 'unknown' } as const)
  if ('refusal' in found) return { path: `/login?problem=${found.refusal}` }
  const step = await askSecondFactor(found.userId)
  if (step) return { path: await keepStep(step) }
  const person = await completeSignIn(found.userId, 'oidc')
  return person ? { userId: person.id } : { path: '/login?problem=unknown' }
}

/** Stores the step in a cookie, because URLs are logged and remain in the browser's history. */
async function keepStep(step: SecondStep): Promise<string> {
  const kept = await cookies()
  const { secure, callback, step: name } = cookieNames()
  const options = {
    httpOnly: true,
    sameSite: 'lax',
    path: '/',
    maxAge: STEP_SECONDS,
    secure,
  } as const
  kept.set(name, JSON.stringify(step), options)
  const wanted = URL.parse(kept.get(callback)?.value ?? '', env().PUBLIC_URL)
  return `/login?next=${encodeURIComponent(wanted ? wanted.pathname + wanted.search : '/')}`
}

/** Returns the second step that is pending in this browser after the provider's redirect. */
export async function readKeptStep(): Promise<SecondStep | null> {
  const text = (await cookies()).get(cookieNames().step)?.value
  if (!text) return null
  try {
    const step = JSON.parse(text) as SecondStep
    return (await readChallenge('second_factor', String(step.challenge))) ? step : null
  } catch {
    return null
  }
}

function bare(issuer: string): string {
  return issuer.replace(/\/+$/, '')
}
