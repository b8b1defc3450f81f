import { actorOf } from '#lib/audit/record.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { issueToken, permissionNotHeld, tooManyTokens } from '#lib/tokens/issue.ts'
import { listTokens, readIssuedToken, readToken, resolveExpiry } from '#lib/tokens/queries.ts'
import { TokenIssued, TokenList, tokenRequest } from '#lib/tokens/schema.ts'

export const GET = endpoint({
  method: 'GET',
  operationId: 'listTokens',
  isCompressible: true,
  summary: 'List tokens',
  description:
    'Returns the token of the request and those that it created, without secrets: active ones, then the latest that ended.',
  allow: 'tokens:read',
  response: TokenList,
  async handle({ account, mode, tokenId }) {
    return { data: await listTokens(account.id, mode, tokenId) }
  },
})

export const POST = endpoint({
  method: 'POST',
  operationId: 'createToken',
  effect: 'new_token',
  summary: 'Create a token',
  description:
    'Creates a token that can do no more than the one of the request: its permissions without `tokens:write`, its mode, its expiry and its addresses. When that token ends, so does the new one. The response shows the token, which can be read nowhere else later.',
  allow: 'tokens:write',
  proof: 'required',
  body: tokenRequest,
  response: TokenIssued,
  errorCodes: ['token_unconfirmed'],
  errorExamples: [tooManyTokens(), permissionNotHeld('create', 'refunds:write')],
  // A retry gets no token, because only the HMAC of the token is stored.
  idempotency: {
    retentionS: 86_400,
    showsSecret: true,
    rebuild: async ({ accountId, mode }, id) => ({
      data: await readIssuedToken(accountId, mode, id),
    }),
  },
  async handle({ account: { id: accountId }, mode, body, once, ...caller }) {
    const expiry = await resolveExpiry(accountId, body)
    const { name, permissions, allowed_addresses: allowedAddresses } = body
    const request = { accountId, mode, name, permissions, allowedAddresses, ...expiry }
    const { id, token } = await issueToken(request, actorOf(caller), once)
    return { data: { ...(await readToken(accountId, mode, id)), token } }
  },
})
