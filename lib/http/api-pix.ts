import { accessTokenRequest, makeAccessToken } from '#lib/api-pix/access-tokens.ts'
import { GENERAL_PROBLEMS } from '#lib/api-pix/problem.ts'
import { accountKey } from '#lib/api-pix/wire.ts'
import { refuse } from '#lib/core/errors.ts'
import { isEqual } from '#lib/core/keys.ts'
import type { Mode } from '#lib/core/mode.ts'
import { accountNotActive, type CallingAccount, RecentCheck } from '#lib/http/caller.ts'
import { limitByAddress } from '#lib/http/endpoint.ts'
import type { HttpRequest, HttpResponse } from '#lib/http/exchange.ts'
import { parseFields, readFormOf } from '#lib/http/input.ts'
import { countFailedBearer } from '#lib/http/rate-limit.ts'
import { respondTo } from '#lib/http/respond.ts'
import { json } from '#lib/http/response.ts'
import { createRouteHandler } from '#lib/http/route-handler.ts'
import { authenticateToken, type TokenCaller } from '#lib/tokens/authenticate.ts'

interface Call {
  account: CallingAccount
  mode: Mode
  ip: string | null
  readsPayers: boolean
}

/** Describes the caller to the operations of API Pix. */
export function merchantOf({ account, mode, ip, readsPayers }: Call) {
  return { ...account, mode, ip, readsPayers, key: accountKey(account.id, mode) }
}

const declared = { method: 'POST', errorFormat: GENERAL_PROBLEMS } as const

/** Exchanges id and value of an API token for an access token, as OAuth 2.0 does with client credentials. */
export const issueAccessToken = Object.assign(
  createRouteHandler(incoming =>
    respondTo(incoming, GENERAL_PROBLEMS, state => {
      return issue(incoming, limitByAddress(state))
    }),
  ),
  { declared },
)

async function issue(
  incoming: HttpRequest,
  limited: Promise<void> | undefined,
): Promise<HttpResponse> {
  await limited
  const check = new RecentCheck(() => authenticateBasic(incoming))
  await check.read()
  const { scope } = parseFields(accessTokenRequest, await readFormOf(incoming, check))
  const { key: hash, permissions } = await check.read()
  const token = makeAccessToken({ hash, permissions }, scope)
  if (!token) throw refuse('permission_denied', { permission: scope ?? 'cob.read' })
  return json(200, token)
}

/** Client id and client secret are id and value of an API token. */
async function authenticateBasic(incoming: HttpRequest): Promise<TokenCaller> {
  const [, encoded = ''] = /^Basic +(\S+) *$/i.exec(incoming.header('authorization') ?? '') ?? []
  const [id = '', secret = ''] = Buffer.from(encoded, 'base64').toString('latin1').split(':')
  const caller = await authenticateToken(secret, incoming.ip)
  if (!caller || !isEqual(caller.tokenId, id.toLowerCase())) {
    await countFailedBearer(incoming.ip)
    throw refuse('unauthenticated')
  }
  if (!caller.isAllowedFrom(incoming.ip))
    throw refuse('address_not_allowed', { address: incoming.ip })
  if (!caller.account.isActive) throw accountNotActive()
  return caller
}
