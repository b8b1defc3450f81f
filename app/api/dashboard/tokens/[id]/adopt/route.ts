import { requireActor } from '#lib/audit/record.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { adoptToken } from '#lib/tokens/change.ts'
import { readToken } from '#lib/tokens/queries.ts'
import { TokenRead } from '#lib/tokens/schema.ts'

export const POST = endpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Confirm a token that exceeds the role of its issuer, and become its issuer',
  allow: 'tokens:adopt',
  proof: 'required',
  response: TokenRead,
  errorCodes: ['token_not_found', 'token_ended', 'permission_not_held'],
  idempotency: { retentionS: 86_400 },
  async handle({ account, mode, params: { id = '' }, userId }) {
    const accountId = account.id
    await adoptToken({ accountId, mode, id }, requireActor(userId))
    return { data: await readToken(accountId, mode, id) }
  },
})
