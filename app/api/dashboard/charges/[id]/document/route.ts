import { requireActor } from '#lib/audit/record.ts'
import { revealDocument } from '#lib/charges/reveal.ts'
import { DocumentRead } from '#lib/charges/wire.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const POST = endpoint({
  method: 'POST',
  effect: 'document',
  summary: 'Reveal the payer’s document, recorded in the audit log',
  allow: 'documents:reveal',
  proof: 'required',
  response: DocumentRead,
  errorCodes: ['transaction_not_found'],
  async handle({ account, mode, params: { id = '' }, userId }) {
    const document = await revealDocument({ accountId: account.id, mode, id }, requireActor(userId))
    return { data: { document } }
  },
})
