import type * as z from 'zod'
import type { Scope } from '#lib/api-pix/access-tokens.ts'
import { isTrocoError, parseDatabaseError, refuse } from '#lib/core/errors.ts'
import { hideTaxIds } from '#lib/core/pix/hide-tax-ids.ts'
import type { ErrorCode } from '#lib/core/refusals.ts'
import type { IdempotentRequest } from '#lib/db/idempotency.ts'
import type { AccountRow } from '#lib/db/sql.ts'
import { requireTestQuota } from '#lib/db/test-usage.ts'
import {
  accountNotActive,
  authenticate,
  authenticateApiPix,
  authorize,
  type Caller,
  documentAccess,
  isWriteMethod,
  RecentCheck,
  readSignedInUser,
  requireAllowedAddress,
  requireMoreThanViewing,
  requireSameOrigin,
  unauthenticated,
} from '#lib/http/caller.ts'
import {
  type Declaration,
  type DocumentRule,
  type Effect,
  type MethodAndProof,
  storesTestData,
} from '#lib/http/declaration.ts'
import type { HttpRequest, HttpResponse } from '#lib/http/exchange.ts'
import { runOncePerKey } from '#lib/http/idempotency.ts'
import {
  keepKnown,
  listIgnoredFields,
  listParameters,
  parseFields,
  parseQuery,
  readObjectOf,
} from '#lib/http/input.ts'
import { type Allowance, consumeAllowance, exhaustedAllowance } from '#lib/http/rate-limit.ts'
import { toLoggedBody } from '#lib/http/request-log.ts'
import { type RequestState, respondTo } from '#lib/http/respond.ts'
import { prefersRepresentation, resultResponse, withEtag } from '#lib/http/response.ts'
import { createRouteHandler, type RouteHandler } from '#lib/http/route-handler.ts'
import { isSecondFactorMissing } from '#lib/people/factors.ts'
import { type ProofRule, requireProof } from '#lib/session/proof.ts'
import type { SessionUser } from '#lib/session/schema.ts'
import { deviceCookieHeader } from '#lib/session/sign-in.ts'
import type { RowAlong } from '#lib/tokens/authenticate.ts'

export interface Endpoint<BodyInput = unknown, QueryInput = unknown, Answer = unknown>
  extends RouteHandler {
  accountlessDeclaration?: undefined
  declared: Declaration<unknown, unknown, BodyInput, QueryInput, Answer>
}

/** Wraps every API route: authenticates, authorizes, validates, then runs `handle`. */
export function endpoint<
  Answer,
  Body = undefined,
  Query = undefined,
  BodyInput = undefined,
  QueryInput = undefined,
>(
  declaration: Declaration<Body, Query, BodyInput, QueryInput, Answer> & DocumentRule<Answer>,
): Endpoint<BodyInput, QueryInput, Answer> {
  const declared = declaration as Declaration<unknown, unknown, BodyInput, QueryInput, Answer>
  const respond = (incoming: HttpRequest) =>
    respondTo(incoming, declared.errorFormat, state => serveEndpoint(state, declared))
  return Object.assign(createRouteHandler(respond), { declared })
}

/** Names the methods of a path, to authenticated callers of an active account only: 405, or 204 to OPTIONS. */
export function refuseMethod(
  incoming: HttpRequest,
  allow: string,
  { errorFormat = 'field_messages', scope }: Pick<Declaration, 'errorFormat' | 'scope'> = {},
): Promise<HttpResponse> {
  return respondTo(incoming, errorFormat, async state => {
    await limitByAddress(state)
    // The path for access tokens, whose callers have none yet.
    if (typeof errorFormat === 'object' && !scope) throw refuse('method_not_allowed', { allow })
    const caller = await authenticateRequest(state, scope)
    requireAllowedAddress(caller, incoming)
    if (!caller.account.isActive) throw accountNotActive()
    await limitByCaller(state, caller)
    if (incoming.method !== 'OPTIONS') throw refuse('method_not_allowed', { allow })
    return { status: 204, headers: { allow, 'cache-control': 'private, no-store' }, text: '' }
  })
}

/** The steps in which endpoints with and without an account differ. */
interface Steps<Sender> {
  /** Returns the authorized sender; called again after a slow body. */
  identify: () => Promise<Sender>
  limit?: (sender: Sender) => Promise<void> | undefined
  readsBody: boolean
  bodyBytesMax?: number
  respond: (check: RecentCheck<Sender>, content: Record<string, unknown>) => Promise<HttpResponse>
}

async function serve<Sender>(state: RequestState, steps: Steps<Sender>): Promise<HttpResponse> {
  await limitByAddress(state)
  const check = new RecentCheck(steps.identify)
  const sender = await check.read()
  await steps.limit?.(sender)
  const run = async () => {
    if (steps.readsBody) state.content ??= readObjectOf(state.incoming, check, steps.bodyBytesMax)
    return steps.respond(check, await (state.content ?? {}))
  }
  try {
    return await run()
  } catch (error) {
    if (!isCallerRefused(error)) throw error
    // The account, token or role has changed after the check: what it allows now may suffice.
    check.expire()
    return await run().catch(again => {
      throw isCallerRefused(again) ? refuse('service_unavailable') : again
    })
  }
}

function serveEndpoint(
  state: RequestState,
  declared: Declaration<unknown, unknown>,
): Promise<HttpResponse> {
  const { incoming } = state
  state.declared = declared
  if (declared.ignoresQuery) state.ignored.parameters = listParameters(incoming.url)
  return serve(state, {
    identify: async () => {
      const along = declared.reads?.(incoming.params)
      const caller = await authenticateRequest(state, declared.scope, along)
      requireMoreThanViewing(caller, incoming, declared)
      authorize(caller, incoming, declared.allow, declared.proof)
      return caller
    },
    limit: caller => (declared.isHeavy ? limitHeavy(state, caller) : limitByCaller(state, caller)),
    readsBody: declared.body !== undefined,
    ...(declared.bodyBytesMax && { bodyBytesMax: declared.bodyBytesMax }),
    respond: (check, content) => runEndpoint(state, declared, check, content),
  })
}

/** Before the body is read, since it may be large. */
async function limitHeavy(state: RequestState, caller: Caller): Promise<void> {
  await limitByCaller(state, caller)
  await state.places.take('heavy', caller.account.id)
  await state.places.take('heavyOfAll', '')
}

function isCallerRefused(error: unknown): boolean {
  return parseDatabaseError(error).code === 'TR401'
}

function requireQuota({ mode, account }: Caller, declared: Declaration<unknown, unknown>): void {
  if (mode === 'test' && storesTestData(declared)) requireTestQuota(account.id)
}

async function reauthorize(incoming: HttpRequest, allow: Declaration['allow']): Promise<void> {
  authorize(await authenticate(incoming), incoming, allow)
}

async function authenticateRequest(
  state: RequestState,
  scope?: Scope,
  along?: RowAlong | null,
): Promise<Caller> {
  const { incoming } = state
  const caller = await (scope ? authenticateApiPix(incoming, scope) : authenticate(incoming, along))
  state.caller = caller
  state.logContext.accountId = caller.account.id
  return caller
}

export function limitByAddress(state: RequestState): Promise<void> | undefined {
  return limitBy(state, 'ip', state.incoming.ip)
}

function limitByCaller(state: RequestState, { key }: Caller): Promise<void> | undefined {
  return key === null ? undefined : limitBy(state, 'token', key)
}

/** Without anything to wait for, returns undefined: a promise costs more than the rest. */
function limitBy(
  state: RequestState,
  policy: 'ip' | 'token',
  key: string,
): Promise<void> | undefined {
  const consumed = consumeAllowance(policy, key)
  if (!consumed) return state.places.take(policy, key)
  return noteAllowance(state, policy, consumed).then(() => state.places.take(policy, key))
}

async function noteAllowance(
  { allowances }: RequestState,
  policy: 'ip' | 'token',
  consumed: Promise<Allowance>,
): Promise<void> {
  try {
    allowances.push(await consumed)
  } catch (error) {
    const exhausted = isTrocoError(error) && exhaustedAllowance(policy, error.retryAfterS ?? 1)
    if (exhausted) allowances.push(exhausted)
    throw error
  }
}

async function runEndpoint(
  state: RequestState,
  declared: Declaration<unknown, unknown>,
  check: RecentCheck<Caller>,
  content: Record<string, unknown>,
): Promise<HttpResponse> {
  const { incoming } = state
  const { body: schema, query: querySchema, idempotency: rule } = declared
  if (schema) state.body = toLoggedBody(incoming, content)
  if (schema && declared.ignoresQuery)
    state.ignored.fields = listIgnoredFields(schema.test, content, declared.listIgnoredFields)
  const isWhole = declared.honorsPrefer === true && prefersRepresentation(incoming)
  const handle = async (once?: IdempotentRequest) => {
    const caller = await check.read()
    // Not before: a replay stores nothing.
    requireQuota(caller, declared)
    const { account, mode, user, tokenId, isViewing, responsibleId, formerIssuers } = caller
    const body = schema && parseFields(schema[mode], content)
    const { ip, header } = incoming
    const url = declared.scope ? keepKnown(querySchema, incoming.url) : incoming.url
    const parsed = declared.ignoresQuery ? undefined : parseQuery(querySchema, url)
    // Staff could otherwise confirm a document that it guesses, as a reference in a path or filter.
    const asked = { params: incoming.params, query: parsed }
    const { params, query } = isViewing ? hideTaxIds(asked) : asked
    const { readsPayers, showsDocuments } = documentAccess(caller)
    const { found } = caller
    const finder =
      <Row>(row: AccountRow<Row>): AccountRow<Row>['find'] =>
      async (accountId, inMode, id) => {
        const isFound = found?.row === row && found.id === id
        const isOwn = accountId === account.id && inMode === mode
        return isFound && isOwn ? (found.value as Row | null) : row.find(accountId, inMode, id)
      }
    return declared.handle({
      account,
      mode,
      body,
      query,
      params,
      ip,
      header,
      once,
      user,
      tokenId,
      isViewing,
      userId: user?.id ?? null,
      responsibleId,
      formerIssuers,
      readsPayers,
      showsDocuments,
      prefersRepresentation: isWhole,
      finder,
      reauthorize: () => reauthorize(incoming, declared.allow),
    })
  }
  const caller = await check.read()
  if (declared.isExport) {
    state.exportPlace ??= state.places.take('export', caller.account.id) ?? Promise.resolve()
    await state.exportPlace
  }
  const mask = maskFor(caller, declared)
  const { fileType, successStatus } = declared
  if (caller.isViewing || !rule) {
    const response = resultResponse(await handle(), { fileType, mask, status: successStatus })
    // Browsers of members keep nothing: they may be shared.
    return declared.hasEtag && !caller.user ? withEtag(incoming, response) : response
  }
  const keyed = { incoming, caller, rule, allow: declared.allow, content, mask }
  const response = await runOncePerKey(keyed, handle)
  // The wait for a request with the same key may have been long, and its response shows what it did.
  if ('idempotent-replayed' in response.headers) await check.read()
  if (isWhole) response.headers['preference-applied'] = 'return=representation'
  return response
}

/** Returns what hides documents in a response, or in an entry of a page, from the caller; undefined: nothing. */
function maskFor(caller: Caller, declared: Declaration<unknown, unknown>) {
  const mask = declared.mask as ((shown: unknown) => unknown) | undefined
  if (caller.isViewing) return (shown: unknown) => hideTaxIds(mask ? mask(shown) : shown)
  return documentAccess(caller).showsDocuments ? undefined : mask
}

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

interface AccountlessDetails<Body, Query, User, BodyInput, QueryInput, Answer> {
  summary: string
  /** Every write needs one. */
  effect?: Effect
  body?: z.ZodType<Body, BodyInput>
  /** Default: as for every operation. */
  bodyBytesMax?: number
  query?: z.ZodType<Query, QueryInput>
  /** Schema of the 200 response; a stream has none. */
  response: z.ZodType<Answer>
  errorCodes?: ErrorCode[]
  handle: (call: Call<Body, Query, User>) => Promise<unknown>
}

type AccountlessDeclaration<Body, Query, BodyInput, QueryInput, Answer> = AccountlessDetails<
  Body,
  Query,
  SessionUser,
  BodyInput,
  QueryInput,
  Answer
> &
  MethodAndProof

export interface AccountlessEndpoint<BodyInput = unknown, QueryInput = unknown, Answer = unknown>
  extends RouteHandler {
  declared?: undefined
  accountlessDeclaration: {
    audience: Audience
    /** Undefined for visitors. */
    method?: MethodAndProof['method']
    proof?: ProofRule
    isCompressible?: true
    effect?: Effect
    response: z.ZodType<Answer>
    body?: z.ZodType<unknown, BodyInput>
    query?: z.ZodType<unknown, QueryInput>
  }
}

/** Declares an endpoint for visitors of the site's own pages: sign-up, sign-in help. */
export function visitorEndpoint<
  Answer,
  Body = undefined,
  Query = undefined,
  BodyInput = undefined,
  QueryInput = undefined,
>(
  declared: AccountlessDetails<Body, Query, null, BodyInput, QueryInput, Answer>,
): AccountlessEndpoint<BodyInput, QueryInput, Answer> {
  return createEndpoint('visitor', declared, async () => null)
}

export function userEndpoint<
  Answer,
  Body = undefined,
  Query = undefined,
  BodyInput = undefined,
  QueryInput = undefined,
>(
  declared: AccountlessDeclaration<Body, Query, BodyInput, QueryInput, Answer>,
): AccountlessEndpoint<BodyInput, QueryInput, Answer> {
  return createEndpoint('person', declared, requirePerson)
}

/** Declares an endpoint for the operator's staff. Other users get a 404, as for an unknown path. */
export function adminEndpoint<
  Answer,
  Body = undefined,
  Query = undefined,
  BodyInput = undefined,
  QueryInput = undefined,
>(
  declared: AccountlessDeclaration<Body, Query, BodyInput, QueryInput, Answer>,
): AccountlessEndpoint<BodyInput, QueryInput, Answer> {
  return createEndpoint('admin', declared, requireStaff)
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

function createEndpoint<
  User extends SessionUser | null,
  Body,
  Query,
  BodyInput,
  QueryInput,
  Answer,
>(
  audience: Audience,
  declared: AccountlessDetails<Body, Query, User, BodyInput, QueryInput, Answer> &
    Partial<MethodAndProof>,
  identifyUser: (incoming: HttpRequest) => Promise<User>,
): AccountlessEndpoint<BodyInput, QueryInput, Answer> {
  const respond = async (state: RequestState, user: User, content: Record<string, unknown>) => {
    const { incoming } = state
    const body = (declared.body && parseFields(declared.body, content)) as Body
    const query = parseQuery(declared.query, incoming.url) as Query
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
  const serveUser = (state: RequestState) =>
    serve(state, {
      identify: async () => {
        const { incoming } = state
        const user = await identifyUser(incoming)
        if (isWriteMethod(incoming.method)) requireSameOrigin(incoming)
        if (declared.proof === 'required' && user) requireProof(user, null)
        return user
      },
      readsBody: declared.body !== undefined,
      bodyBytesMax: declared.bodyBytesMax,
      respond: async (check, content) => respond(state, await check.read(), content),
    })
  const { method, proof, isCompressible, effect, response, body, query } = declared
  const kept = { method, proof, isCompressible, effect, response, body, query }
  return Object.assign(
    createRouteHandler(incoming => respondTo(incoming, 'field_messages', serveUser)),
    {
      accountlessDeclaration: { audience, ...kept },
    },
  )
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
