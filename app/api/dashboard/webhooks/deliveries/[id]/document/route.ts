import { createAuditNote } from '#lib/audit/record.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { revealDelivery } from '#lib/webhooks/deliveries.ts'
import { DeliveryRead } from '#lib/webhooks/wire.ts'

export const POST = endpoint({
  method: 'POST',
  effect: 'document',
  summary: 'Reveal a delivery as it was sent and answered, recorded in the audit log',
  allow: 'documents:reveal',
  proof: 'required',
  response: DeliveryRead,
  errorCodes: ['delivery_not_found'],
  async handle({ account, mode, userId, params: { id = '' } }) {
    const note = createAuditNote(account.id, userId)
    return { data: await revealDelivery({ accountId: account.id, mode, note }, id) }
  },
})
