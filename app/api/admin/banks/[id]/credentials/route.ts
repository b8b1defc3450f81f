import { requireActor } from '#lib/base/audit/note.ts'
import { adminEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { credentialsOf } from '#lib/services/gateway/bank-request.ts'
import { renewCredentials } from '#lib/services/gateway/renew-credentials.ts'
import { CredentialsRequest } from '#lib/services/gateway/schema.ts'
import { requireBank, serializeCheck } from '#lib/views/admin/banks/detail.ts'
import { BankChecked } from '#lib/views/admin/banks/schema.ts'

export const PUT = adminEndpoint({
  method: 'PUT',
  effect: 'none',
  summary: 'Replace the credentials of a connection, if a check with the new ones passes',
  body: CredentialsRequest,
  response: BankChecked,
  errorCodes: ['connection_not_found'],
  proof: 'required',
  async handle({ user, body, params: { id = '' } }) {
    await requireBank(id)
    const actor = requireActor(user.id)
    return { data: serializeCheck(await renewCredentials(id, credentialsOf(body), actor)) }
  },
})
