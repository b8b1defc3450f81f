import * as z from 'zod'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { readAttachment } from '#lib/operator/differences/evidence.ts'

export const GET = adminEndpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'Download the attachment of an entry',
  response: z.string(),
  errorCodes: ['item_not_found'],
  handle: ({ params: { id = '', correction_id: correctionId = '' } }) =>
    readAttachment(id, correctionId),
})
