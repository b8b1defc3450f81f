import type { IdempotentRequest } from '#lib/base/db/once.ts'
import { isTrocoError, parseDatabaseError } from '#lib/base/errors.ts'
import { type LogContext, log, withLogContext } from '#lib/base/log.ts'
import { answerError, type InvalidForm, isStreamed, json, stream } from '#lib/edge/http/answer.ts'
import { parseFields, readObject, readQuery } from '#lib/edge/http/body.ts'
import {
  authenticate,
  authorize,
  type Caller,
  notActive,
  recallCaller,
} from '#lib/edge/http/caller.ts'
import type { Declaration } from '#lib/edge/http/declaration.ts'
import type { Answer, Incoming } from '#lib/edge/http/exchange.ts'
import { actOnce, readKey } from '#lib/edge/http/idempotency.ts'
import {
  type Allowance,
  allowanceHeaders,
  spentAllowance,
  takeAllowance,
} from '#lib/edge/http/rate-limit.ts'
import { fromRequest, toResponse } from '#lib/edge/http/web.ts'

interface Context {
  params: Promise<Record<string, string>>
}

/** Export of a route module: the handler for Next, and `serve`, which the front calls directly. */
export interface Served {
  (request: Request, context: Context): Promise<Response>
  serve: (incoming: Incoming) => Promise<Answer>
}

export interface Endpoint extends Served {
  opens?: undefined
  declared: Declaration<unknown, unknown>
}

export function routeOf(serve: Served['serve']): Served {
  const handler = async (request: Request, { params }: Context) =>
    toResponse(await serve(fromRequest(request, await params)))
  return Object.assign(handler, { serve })
}

/** State of one request during the checks: what is counted or read only once. */
export interface Visit {
  incoming: Incoming
  noted: LogContext
  allowances: (Allowance | null)[]
  address?: Promise<void>
  token?: Promise<void>
  content?: Promise<Record<string, unknown>>
}

/** Wraps every API route: authenticates, authorizes, validates, then runs `handle`. */
export function endpoint<Body = undefined, Query = undefined>(
  given: Declaration<Body, Query>,
): Endpoint {
  const declared = given as Declaration<unknown, unknown>
  const serve = (incoming: Incoming) =>
    answering(incoming, declared.invalid, visit => proceed(visit, declared))
  return Object.assign(routeOf(serve), { declared })
}

/** Responds 405, but only to callers who pass authentication with an active account. */
export function refuseMethod(incoming: Incoming, allow: string): Promise<Answer> {
  return answering(incoming, 'field_messages', async visit => {
    const caller = await admit(visit)
    if (!caller.account.isActive) throw notActive()
    await countToken(visit, caller)
    return json(405, { error: 'Method not allowed' }, { allow })
  })
}

export function answering(
  incoming: Incoming,
  invalid: InvalidForm = 'field_messages',
  answer: (visit: Visit) => Promise<Answer>,
): Promise<Answer> {
  const { requestId, ip, method } = incoming
  return withLogContext({ requestId, ip }, async noted => {
    const began = performance.now()
    const visit: Visit = { incoming, noted, allowances: [] }
    const said = await answer(visit).catch(error => answerError(error, invalid))
    Object.assign(said.headers, allowanceHeaders(visit.allowances))
    const tookMs = Math.round(performance.now() - began)
    log().debug({ method, status: said.status, tookMs }, 'request completed')
    return said
  })
}

async function proceed(visit: Visit, declared: Declaration<unknown, unknown>): Promise<Answer> {
  const { incoming } = visit
  if (declared.quick && incoming.header('idempotency-key') === null) {
    const said = await tryQuickly(visit, declared)
    if (said) return said
  }
  const caller = await admit(visit)
  authorize(caller, incoming, declared.allow, declared.takesProof)
  await countToken(visit, caller)
  return work(visit, declared, caller)
}

/**
 * Serves the request with a remembered caller. Only a success counts, because the statement proved
 * the caller; other outcomes are decided again in the usual order.
 */
async function tryQuickly(
  visit: Visit,
  declared: Declaration<unknown, unknown>,
): Promise<Answer | null> {
  const caller = recallCaller(visit.incoming)
  if (!caller) return null
  await countAddress(visit)
  try {
    visit.noted.accountId = caller.account.id
    authorize(caller, visit.incoming, declared.allow)
    await countToken(visit, caller)
    return await work(visit, declared, caller)
  } catch (error) {
    if (isTrocoError(error) || parseDatabaseError(error).code === 'TR401') return null
    throw error
  }
}

async function proveAgain(incoming: Incoming, allow: Declaration['allow']): Promise<void> {
  authorize(await authenticate(incoming), incoming, allow)
}

async function admit(visit: Visit): Promise<Caller> {
  await countAddress(visit)
  const caller = await authenticate(visit.incoming)
  visit.noted.accountId = caller.account.id
  return caller
}

export function countAddress(visit: Visit): Promise<void> {
  visit.address ??= count(visit, 'ip', visit.incoming.ip)
  return visit.address
}

function countToken(visit: Visit, { key }: Caller): Promise<void> | undefined {
  if (key !== null) visit.token ??= count(visit, 'token', key)
  return visit.token
}

async function count(visit: Visit, policy: 'ip' | 'token', key: string): Promise<void> {
  const taken = await takeAllowance(policy, key).catch(error => {
    if (isTrocoError(error)) visit.allowances.push(spentAllowance(policy, error.retryAfterS ?? 1))
    throw error
  })
  visit.allowances.push(taken)
}

async function work(
  visit: Visit,
  declared: Declaration<unknown, unknown>,
  { account, mode, user }: Caller,
): Promise<Answer> {
  const { incoming } = visit
  const { body: schema, query: querySchema, once: rule } = declared
  if (schema) visit.content ??= readObject(incoming)
  const content = await (visit.content ?? {})
  const handle = async (once?: IdempotentRequest) => {
    const body = schema && parseFields(schema[mode], content)
    const query = querySchema && parseFields(querySchema, readQuery(incoming.url))
    const { params, ip } = incoming
    const call = { account, mode, body, query, params, ip, user, userId: user?.id ?? null, once }
    return declared.handle({ ...call, proveAgain: () => proveAgain(incoming, declared.allow) })
  }
  const key = rule ? readKey(incoming) : null
  if (!rule || key === null) {
    const said = await handle()
    return isStreamed(said) ? stream(said) : json(200, said)
  }
  const path = (incoming.url.split('?')[0] ?? '').replace(/\/+$/, '')
  return actOnce({ accountId: account.id, mode, path, key }, content, rule, handle)
}
