import type { Once } from '#lib/db/once.ts'
import { databaseFault, isTrocoError } from '#lib/errors.ts'
import { ADDRESS_HEADER, REQUEST_ID_HEADER } from '#lib/headers.ts'
import { answerError, type InvalidForm, json } from '#lib/http/answer.ts'
import { parseFields, readObject, readQuery } from '#lib/http/body.ts'
import { authenticate, authorize, type Caller, notActive, recallCaller } from '#lib/http/caller.ts'
import type { Declaration } from '#lib/http/declaration.ts'
import { actOnce, type Rule, readKey } from '#lib/http/idempotency.ts'
import {
  type Allowance,
  allowanceHeaders,
  spentAllowance,
  takeAllowance,
} from '#lib/http/rate-limit.ts'
import { inContext, type LogContext, log } from '#lib/log.ts'

interface Context {
  params: Promise<Record<string, string>>
}

export interface Endpoint {
  (request: Request, context: Context): Promise<Response>
  declared: Declaration<unknown, unknown>
}

/** One request on its way through the checks; what is counted or read once is kept here. */
interface Visit {
  request: Request
  ip: string
  allowances: (Allowance | null)[]
  address?: Promise<void>
  token?: Promise<void>
  content?: Promise<Record<string, unknown>>
}

/** The one wrapper of every API route: who calls, may they, what do they say, then the work. */
export function endpoint<Body = undefined, Query = undefined>(
  declared: Declaration<Body, Query>,
): Endpoint {
  const handler = (request: Request, context: Context) =>
    answering(request, declared.invalid, async (visit, noted) => {
      const params = await context.params
      if (declared.quick && !request.headers.has('idempotency-key')) {
        const answer = await tryQuickly(visit, declared, params, noted)
        if (answer) return answer
      }
      const caller = await admit(visit, noted)
      authorize(caller, request, declared.allow)
      await countToken(visit, caller)
      return work(visit, declared, params, caller)
    })
  return Object.assign(handler, { declared: declared as Declaration<unknown, unknown> })
}

/** A method that an address does not have is said only to whoever may call it at all. */
export function refuseMethod(request: Request, allow: string): Promise<Response> {
  return answering(request, 'field_messages', async (visit, noted) => {
    const caller = await admit(visit, noted)
    if (!caller.account.isActive) throw notActive()
    await countToken(visit, caller)
    return json(405, { error: 'Method not allowed' }, { allow })
  })
}

function answering(
  request: Request,
  invalid: InvalidForm = 'field_messages',
  proceed: (visit: Visit, noted: LogContext) => Promise<Response>,
): Promise<Response> {
  const { headers, method } = request
  const requestId = headers.get(REQUEST_ID_HEADER) ?? undefined
  return inContext({ requestId }, async noted => {
    const began = performance.now()
    const visit: Visit = { request, ip: headers.get(ADDRESS_HEADER) ?? '', allowances: [] }
    const answer = await proceed(visit, noted).catch(error => answerError(error, invalid))
    for (const [name, value] of Object.entries(allowanceHeaders(visit.allowances))) {
      answer.headers.set(name, value)
    }
    const tookMs = Math.round(performance.now() - began)
    log().debug({ method, status: answer.status, tookMs }, 'answered')
    return answer
  })
}

/**
 * The same request with a caller who is remembered instead of asked for. Only a success counts: the
 * statement proved the caller then. Whatever else comes of it is judged afresh, in the usual order.
 */
async function tryQuickly<Body, Query>(
  visit: Visit,
  declared: Declaration<Body, Query>,
  params: Record<string, string>,
  noted: LogContext,
): Promise<Response | null> {
  const caller = recallCaller(visit.request.headers)
  if (!caller) return null
  await countAddress(visit)
  try {
    noted.accountId = caller.account.id
    authorize(caller, visit.request, declared.allow)
    await countToken(visit, caller)
    return await work(visit, declared, params, caller)
  } catch (error) {
    if (isTrocoError(error) || databaseFault(error).code === 'TR401') return null
    throw error
  }
}

async function admit(visit: Visit, noted: LogContext): Promise<Caller> {
  await countAddress(visit)
  const caller = await authenticate(visit.request.headers, visit.ip)
  noted.accountId = caller.account.id
  return caller
}

function countAddress(visit: Visit): Promise<void> {
  visit.address ??= count(visit, 'ip', visit.ip)
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

async function work<Body, Query>(
  visit: Visit,
  declared: Declaration<Body, Query>,
  params: Record<string, string>,
  caller: Caller,
): Promise<Response> {
  const { request, ip } = visit
  const { account, mode } = caller
  const { body: schema, query: querySchema, once: rule } = declared
  if (schema) visit.content ??= readObject(request)
  const content = await (visit.content ?? {})
  const handle = async (once?: Once) => {
    const body = schema && parseFields(schema[mode], content)
    const query = querySchema && parseFields(querySchema, readQuery(request.url))
    return declared.handle({
      account,
      mode,
      body: body as Body,
      query: query as Query,
      params,
      ip,
      once,
    })
  }
  const key = rule ? readKey(request.headers) : null
  if (!rule || key === null) return json(200, await handle())
  const path = new URL(request.url).pathname.replace(/\/+$/, '')
  return actOnce({ accountId: account.id, mode, path, key }, content, rule, handle)
}
