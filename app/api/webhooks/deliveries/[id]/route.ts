import { endpoint } from '#lib/http/endpoint.ts'
import { readDelivery } from '#lib/webhooks/deliveries.ts'
import { DeliveryRead } from '#lib/webhooks/wire.ts'

export const GET = endpoint({
  method: 'GET',
  operationId: 'getDelivery',
  isCompressible: true,
  hasEtag: true,
  summary: 'Read a delivery',
  description:
    'Returns a delivery with each attempt as it was sent and answered. If a payer’s CPF or CNPJ was sent in full and the caller lacks `payers:read`, it is masked, and signatures and responses are left out.',
  allow: 'webhooks:read',
  response: DeliveryRead,
  errorCodes: ['delivery_not_found'],
  async handle({ account, mode, params: { id = '' }, showsDocuments }) {
    return { data: await readDelivery(account.id, mode, id, showsDocuments) }
  },
})
