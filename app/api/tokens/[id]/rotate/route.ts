import { actorOf } from '#lib/audit/record.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { rotateToken } from '#lib/tokens/change.ts'
import { permissionNotHeld, tooManyWorkingTokens } from '#lib/tokens/issue.ts'
import { readIssuedToken, readToken } from '#lib/tokens/queries.ts'
import { rotateRequest, TokenIssued } from '#lib/tokens/schema.ts'

export const POST = endpoint({
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
})
