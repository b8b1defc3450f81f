import { requireActor } from '#lib/audit/record.ts'
import { credentialsOf, renewCredentials } from '#lib/banks/connection-setup.ts'
import { CredentialsRequest } from '#lib/banks/schema.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { requireBank, serializeCheck } from '#lib/operator/banks/list.ts'
import { BankChecked } from '#lib/operator/banks/schema.ts'

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
