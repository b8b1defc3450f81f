import { actorOf } from '#lib/audit/record.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { endpoints } from '#lib/http/routes.ts'
import { changeAddresses, revokeOwnToken, rotateToken } from '#lib/tokens/change.ts'
import {
  issueToken,
  permissionNotHeld,
  tooManyTokens,
  tooManyWorkingTokens,
} from '#lib/tokens/issue.ts'
import { listTokens, readIssuedToken, readToken, resolveExpiry } from '#lib/tokens/queries.ts'
import {
  addressesRequest,
  revokeRequest,
  rotateRequest,
  TokenIssued,
  TokenList,
  TokenRead,
  tokenRequest,
} from '#lib/tokens/schema.ts'

export const { GET, POST, PATCH } = endpoints({
  'GET /tokens': endpoint({
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
  }),
  'POST /tokens': endpoint({
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
  }),
  'PATCH /tokens/[id]': endpoint({
    method: 'PATCH',
    operationId: 'updateToken',
    effect: 'none',
    summary: 'Change the addresses from which a token may be used',
    description:
      'Replaces the list from the next request on. A token changes only those that it created, within its own addresses.',
    allow: 'tokens:write',
    proof: 'required',
    body: addressesRequest,
    response: TokenRead,
    errorCodes: ['token_not_found', 'token_ended', 'token_unconfirmed'],
    errorExamples: [permissionNotHeld('change', 'refunds:write')],
    async handle({ account, mode, body, params: { id = '' }, ...caller }) {
      const accountId = account.id
      await changeAddresses({ accountId, mode, id }, body.allowed_addresses, actorOf(caller))
      return { data: await readToken(accountId, mode, id) }
    },
  }),
  'POST /tokens/[id]/revoke': endpoint({
    method: 'POST',
    operationId: 'revokeToken',
    effect: 'none',
    summary: 'Revoke a token',
    description:
      'Revokes a token that the one of the request created. It is refused from the next request on. Endpoints of webhooks that it created stay. Idempotent.',
    allow: 'tokens:write',
    proof: 'required',
    body: revokeRequest,
    response: TokenRead,
    errorCodes: ['token_not_found'],
    idempotency: { retentionS: 86_400 },
    async handle({ account, mode, body, params: { id = '' }, ...caller }) {
      const accountId = account.id
      await revokeOwnToken({ accountId, mode, id }, body.reason, actorOf(caller))
      return { data: await readToken(accountId, mode, id) }
    },
  }),
  'POST /tokens/[id]/rotate': endpoint({
    method: 'POST',
    operationId: 'rotateToken',
    effect: 'token_value',
    summary: 'Rotate a token',
    description:
      'Replaces a token that the one of the request created, or, with `tokens:read`, the token of the request itself, whose replacement expires when it does. The old one works until the overlap ends; the tokens that it created move to the new one and keep working. The response shows the new token, which can be read nowhere else later.',
    allow: 'tokens:write',
    proof: 'required',
    body: rotateRequest,
    response: TokenIssued,
    errorCodes: ['token_not_found', 'token_ended', 'token_unconfirmed', 'child_token'],
    errorExamples: [tooManyWorkingTokens(), permissionNotHeld('rotate', 'refunds:write')],
    // A retry gets no token, because only the HMAC of the token is stored.
    idempotency: {
      retentionS: 86_400,
      showsSecret: true,
      rebuild: async ({ accountId, mode }, id) => ({
        data: await readIssuedToken(accountId, mode, id),
      }),
    },
    async handle({ account: { id: accountId }, mode, body, params, once, ...caller }) {
      const rotation = { accountId, mode, id: params.id ?? '', overlapHours: body.overlap_hours }
      const { id, token } = await rotateToken(rotation, actorOf(caller), once)
      return { data: { ...(await readToken(accountId, mode, id)), token } }
    },
  }),
})
