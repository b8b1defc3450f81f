import { actorOf } from '#lib/audit/record.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { readToken } from '#lib/tokens/queries.ts'
import { revokeOwnToken } from '#lib/tokens/revoke.ts'
import { revokeRequest, TokenRead } from '#lib/tokens/schema.ts'

export const POST = endpoint({
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
})
