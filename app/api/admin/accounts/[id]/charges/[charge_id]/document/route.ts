import { requireActor } from '#lib/base/audit/note.ts'
import { adminEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { revealDocument } from '#lib/rooms/charges/reveal.ts'
import { DocumentRead } from '#lib/rooms/charges/wire.ts'
import { reasonRequest } from '#lib/views/admin/schema.ts'

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
