import { actorOf } from '#lib/audit/record.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { changeAddresses } from '#lib/tokens/change.ts'
import { permissionNotHeld } from '#lib/tokens/issue.ts'
import { readToken } from '#lib/tokens/queries.ts'
import { addressesRequest, TokenRead } from '#lib/tokens/schema.ts'

export const PATCH = endpoint({
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
})
