import { requireActor } from '#lib/audit/record.ts'
import { revealDocument } from '#lib/charges/reveal.ts'
import { DocumentRead } from '#lib/charges/wire.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { reasonRequest } from '#lib/operator/schema.ts'

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'document',
  summary: 'Reveal a payer’s document, recorded in the audit log of the account',
  body: reasonRequest,
  response: DocumentRead,
  errorCodes: ['transaction_not_found'],
  proof: 'required',
  async handle({ user, body, params: { id: accountId = '', charge_id: id = '' } }) {
    const document = await revealDocument({ accountId, id }, requireActor(user.id), body.reason)
    return { data: { document } }
  },
})
