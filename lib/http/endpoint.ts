import type * as z from 'zod'
import { TrocoError } from '#lib/errors.ts'
import { ADDRESS_HEADER, REQUEST_ID_HEADER } from '#lib/headers.ts'
import { answerError, type InvalidForm, json } from '#lib/http/answer.ts'
import { parseBody, readObject } from '#lib/http/body.ts'
import { inContext, type LogContext, log } from '#lib/log.ts'
import { isOpen, type Mode } from '#lib/mode.ts'
import type { Permission } from '#lib/tokens/schema.ts'
import { type TokenCaller, verifyToken } from '#lib/tokens/verify.ts'

interface Call<Body> {
  account: TokenCaller['account']
  mode: Mode
  body: Body
  params: Record<string, string>
  ip: string | null
}

interface Declaration<Body> {
  /** The permission that a token needs; any one of a list will do. */
  allow: Permission | Permission[]
  /** What the body must be, in each mode; without it none is read. */
  body?: Record<Mode, z.ZodType<Body>>
  invalid?: InvalidForm
  handle: (call: Call<Body>) => Promise<unknown>
}

type Handler = (
  request: Request,
  context: { params: Promise<Record<string, string>> },
) => Promise<Response>

/** The one wrapper of every API route: who calls, may they, what do they say, then the work. */
export function endpoint<Body = undefined>(declared: Declaration<Body>): Handler {
  const invalid = declared.invalid ?? 'field_messages'
  return async (request, context) => {
    const requestId = request.headers.get(REQUEST_ID_HEADER) ?? undefined
    return inContext({ requestId }, async noted => {
      const began = performance.now()
      const answer = await answerCall(noted)
      const { method } = request
      const tookMs = Math.round(performance.now() - began)
      log().debug({ method, allow: declared.allow, status: answer.status, tookMs }, 'answered')
      return answer
    })

    async function answerCall(noted: LogContext): Promise<Response> {
      try {
        const caller = await authenticate(request.headers.get('authorization'))
        noted.accountId = caller.account.id
        authorize(caller, declared.allow)
        const { account, mode } = caller
        const schema = declared.body?.[mode]
        const body = schema ? parseBody(schema, await readObject(request)) : undefined
        const params = await context.params
        const ip = request.headers.get(ADDRESS_HEADER)
        return json(200, await declared.handle({ account, mode, body: body as Body, params, ip }))
      } catch (error) {
        return answerError(error, invalid)
      }
    }
  }
}

/** A method that an address does not have is said only to whoever may call it at all. */
export async function refuseMethod(authorization: string | null, allow: string): Promise<Response> {
  try {
    const { account } = await authenticate(authorization)
    if (!account.isActive) throw new TrocoError('account_not_active', 'Account not active')
    return json(405, { error: 'Method not allowed' }, { allow })
  } catch (error) {
    return answerError(error, 'field_messages')
  }
}

async function authenticate(authorization: string | null): Promise<TokenCaller> {
  const [, token] = /^Bearer +(\S+) *$/i.exec(authorization ?? '') ?? []
  const caller = token ? await verifyToken(token) : null
  if (!caller) throw new TrocoError('unauthenticated', 'Unauthenticated')
  return caller
}

function authorize(caller: TokenCaller, allow: Permission | Permission[]): void {
  if (!caller.account.isActive) throw new TrocoError('account_not_active', 'Account not active')
  const wanted = [allow].flat()
  // Reading an empty world does no harm; nothing may begin in it.
  if (!isOpen(caller.mode) && wanted.some(permission => permission.endsWith(':write'))) {
    throw new TrocoError('live_mode_disabled', 'Live mode is not enabled')
  }
  if (wanted.some(permission => caller.permissions.includes(permission))) return
  const permission = wanted.join(' or ')
  throw new TrocoError('permission_denied', `Permission denied: ${permission}`, { permission })
}
