import { requireActor } from '#lib/base/audit/note.ts'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { issueToken } from '#lib/rooms/tokens/issue.ts'
import { listTokens, readIssuedToken, readToken, resolveExpiry } from '#lib/rooms/tokens/queries.ts'
import { tokenRequest } from '#lib/rooms/tokens/schema.ts'
import { TokenIssued, TokenList } from '#lib/rooms/tokens/wire.ts'

export const GET = endpoint({
  method: 'GET',
  summary: 'List the tokens of the account',
  allow: 'tokens:read',
  response: TokenList,
  async handle({ account, mode }) {
    return { data: await listTokens(account.id, mode) }
  },
})

export const POST = endpoint({
  method: 'POST',
  effect: 'new_token',
  summary: 'Create a token and show it once',
  allow: 'tokens:write',
  proof: 'required',
  body: tokenRequest,
  response: TokenIssued,
  errorCodes: ['limit_reached', 'permission_not_held'],
  // A retry gets no token, because only the HMAC of the token is stored.
  idempotency: {
    retentionS: 86_400,
    rebuild: async ({ account, mode }, id) => ({ data: await readIssuedToken(account, mode, id) }),
  },
  async handle({ account: { id: accountId }, mode, body, userId, once }) {
    const expiresAt = await resolveExpiry(accountId, body)
    const { name, permissions, allowed_addresses: allowedAddresses } = body
    const request = { accountId, mode, name, permissions, allowedAddresses, expiresAt }
    const { id, token } = await issueToken(request, requireActor(userId), once)
    return { data: { ...(await readToken(accountId, mode, id)), token } }
  },
})
