import { refuse } from '#lib/core/errors.ts'
import { EmptyResponse } from '#lib/core/fields.ts'
import { isUuid } from '#lib/core/ids.ts'
import { userEndpoint } from '#lib/http/endpoint.ts'
import { removePasskey } from '#lib/people/passkeys.ts'

export const DELETE = userEndpoint({
  method: 'DELETE',
  effect: 'none',
  summary: 'Remove a passkey',
  response: EmptyResponse,
  errorCodes: ['factor_not_found'],
  proof: 'required',
  async handle({ user, params: { id = '' } }) {
    if (!isUuid(id)) throw refuse('factor_not_found', { factor: 'Passkey' })
    await removePasskey(user, id)
    return { data: {} }
  },
})
