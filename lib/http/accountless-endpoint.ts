import type * as z from 'zod'
import { refuse } from '#lib/core/errors.ts'
import type { ErrorCode } from '#lib/core/refusals.ts'
import { parseFields, readObjectOf } from '#lib/http/body.ts'
import { isWriteMethod, readSignedInUser, unauthenticated } from '#lib/http/caller.ts'
import type { Effect, MethodAndProof } from '#lib/http/declaration.ts'
import { limitByAddress } from '#lib/http/endpoint.ts'
import type { HttpRequest, HttpResponse } from '#lib/http/exchange.ts'
import { requireSameOrigin } from '#lib/http/origin.ts'
import { parseQuery } from '#lib/http/query.ts'
import { RecentCheck } from '#lib/http/recent-check.ts'
import { type RequestState, respondTo } from '#lib/http/respond.ts'
import { resultResponse } from '#lib/http/response.ts'
import { createRouteHandler, type RouteHandler } from '#lib/http/route-handler.ts'
import { limitBytesOfUser } from '#lib/http/throughput.ts'
import { isSecondFactorMissing } from '#lib/people/factors.ts'
import { deviceCookieHeader } from '#lib/session/device-cookie.ts'
import { type ProofRule, requireProof } from '#lib/session/proof.ts'
import type { SessionUser } from '#lib/session/schema.ts'

export type Audience = 'visitor' | 'person' | 'admin'

interface Call<Body, Query, User> {
  user: User
  body: Body
  query: Query
  params: Record<string, string>
  ip: string
  userAgent: string | null
  /** The Origin header, empty if absent. Verified to be this site's own only for writes. */
  origin: string
  /** Makes this browser a known device of the user, in place of earlier marks of the user. */
  rememberDevice: (userId: string) => void
}

interface AccountlessDetails<Body, Query, User> {
  summary: string
  /** Every write needs one. */
  effect?: Effect
  body?: z.ZodType<Body>
  query?: z.ZodType<Query>
  /** Schema of the 200 response; a stream has none. */
  response: z.ZodType
  errorCodes?: ErrorCode[]
  handle: (call: Call<Body, Query, User>) => Promise<unknown>
}

type AccountlessDeclaration<Body, Query> = AccountlessDetails<Body, Query, SessionUser> &
  MethodAndProof

export interface AccountlessEndpoint extends RouteHandler {
  declared?: undefined
  accountlessDeclaration: {
    audience: Audience
    /** Undefined for visitors. */
    method?: MethodAndProof['method']
    proof?: ProofRule
    isCompressible?: true
    effect?: Effect
    response: z.ZodType
    body?: z.ZodType
    query?: z.ZodType
  }
}

/** Declares an endpoint for visitors of the site's own pages: sign-up, sign-in help. */
export function visitorEndpoint<Body = undefined, Query = undefined>(
  declared: AccountlessDetails<Body, Query, null>,
): AccountlessEndpoint {
  return createEndpoint(
    'visitor',
    declared as AccountlessDetails<unknown, unknown, null>,
    async () => null,
  )
}

export function userEndpoint<Body = undefined, Query = undefined>(
  declared: AccountlessDeclaration<Body, Query>,
): AccountlessEndpoint {
  return createEndpoint(
    'person',
    declared as AccountlessDeclaration<unknown, unknown>,
    requirePerson,
  )
}

/** Declares an endpoint for the operator's staff. Other users get a 404, as for an unknown path. */
export function adminEndpoint<Body = undefined, Query = undefined>(
  declared: AccountlessDeclaration<Body, Query>,
): AccountlessEndpoint {
  return createEndpoint('admin', declared as AccountlessDeclaration<unknown, unknown>, requireStaff)
}

/** Responds 405 to an unsupported method, after the same checks as an endpoint of this audience. */
export function refuseAccountlessMethod(
  incoming: HttpRequest,
  { audience }: AccountlessEndpoint['accountlessDeclaration'],
  allow: string,
) {
  return respondTo(incoming, 'field_messages', async state => {
    await limitByAddress(state)
    if (audience !== 'visitor')
      await (audience === 'admin' ? requireStaff : requirePerson)(incoming)
    throw refuse('method_not_allowed', { allow })
  })
}

function createEndpoint<User extends SessionUser | null>(
  audience: Audience,
  declared: AccountlessDetails<unknown, unknown, User> & Partial<MethodAndProof>,
  identifyUser: (incoming: HttpRequest) => Promise<User>,
): AccountlessEndpoint {
  const respond = async (state: RequestState): Promise<HttpResponse> => {
    await limitByAddress(state)
    const { incoming } = state
    const check = new RecentCheck(async () => {
      const identified = await identifyUser(incoming)
      if (isWriteMethod(incoming.method)) requireSameOrigin(incoming)
      if (declared.proof === 'required' && identified) requireProof(identified, null)
      return identified
    })
    const sender = await check.read()
    if (sender) await limitBytesOfUser(state, sender.id)
    const content = declared.body ? await readObjectOf(incoming, check) : {}
    const user = await check.read()
    const body = declared.body && parseFields(declared.body, content)
    const query = parseQuery(declared.query, incoming.url)
    const { params, ip } = incoming
    const userAgent = incoming.header('user-agent')
    const origin = incoming.header('origin') ?? ''
    const cookies: Record<string, string> = {}
    const rememberDevice = (userId: string) => {
      cookies['set-cookie'] = deviceCookieHeader(userId, incoming.header('cookie') ?? '')
    }
    const call = { user, body, query, params, ip, userAgent, origin, rememberDevice }
    const response = resultResponse(await declared.handle(call))
    return { ...response, headers: { ...response.headers, ...cookies } }
  }
  const serve = (incoming: HttpRequest) => respondTo(incoming, 'field_messages', respond)
  const { method, proof, isCompressible, effect, response, body, query } = declared
  const kept = { method, proof, isCompressible, effect, response, body, query }
  return Object.assign(createRouteHandler(serve), {
    accountlessDeclaration: { audience, ...kept },
  })
}

async function requirePerson(incoming: HttpRequest): Promise<SessionUser> {
  const user = await readSignedInUser(incoming)
  if (!user) throw unauthenticated()
  return user
}

async function requireStaff(incoming: HttpRequest): Promise<SessionUser> {
  const user = await requirePerson(incoming)
  if (!user.isAdmin) throw refuse('not_found')
  if (isSecondFactorMissing(user)) {
    throw refuse('second_factor_required')
  }
  return user
}
