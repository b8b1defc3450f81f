import { requireActor } from '#lib/base/audit/note.ts'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { readIssuedToken, readToken } from '#lib/rooms/tokens/queries.ts'
import { rotateToken } from '#lib/rooms/tokens/rotate.ts'
import { rotateRequest } from '#lib/rooms/tokens/schema.ts'
import { TokenIssued } from '#lib/rooms/tokens/wire.ts'

export const POST = endpoint({
  method: 'POST',
  effect: 'token_value',
  summary: 'Rotate a token and show the new one once',
  allow: 'tokens:write',
  proof: 'required',
  body: rotateRequest,
  response: TokenIssued,
  errorCodes: ['token_not_found', 'token_ended', 'token_unconfirmed', 'permission_not_held'],
  // A retry gets no token, because only the HMAC of the token is stored.
  idempotency: {
    retentionS: 86_400,
    rebuild: async ({ account, mode }, id) => ({ data: await readIssuedToken(account, mode, id) }),
  },
  async handle({ account, mode, body, params, userId, once }) {
    const accountId = account.id
    const rotation = { accountId, mode, id: params.id ?? '', overlapHours: body.overlap_hours }
    const { id, token } = await rotateToken(rotation, requireActor(userId), once)
    return { data: { ...(await readToken(accountId, mode, id)), token } }
  },
})
