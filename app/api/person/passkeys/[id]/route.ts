import { refuse } from '#lib/base/errors.ts'
import { isUuid } from '#lib/base/ids.ts'
import { userEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { removePasskey } from '#lib/services/people/passkeys.ts'
import { EmptyResponse } from '#lib/services/people/wire.ts'

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
