import { actorOf } from '#lib/audit/note.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { readToken } from '#lib/tokens/queries.ts'
import { revokeOwnToken } from '#lib/tokens/revoke.ts'
import { revokeRequest } from '#lib/tokens/schema.ts'
import { TokenRead } from '#lib/tokens/wire.ts'

export const POST = endpoint({
  summary: 'End a token from the next request on',
  allow: 'tokens:write',
  takesProof: true,
  body: revokeRequest,
  answer: TokenRead,
  refuses: ['token_not_found'],
  once: { keptS: 86_400 },
  async handle({ account, mode, body, params: { id = '' }, userId }) {
    const accountId = account.id
    await revokeOwnToken({ accountId, mode, id }, body.reason, actorOf(userId))
    return { data: await readToken(accountId, mode, id) }
  },
})
