import { proposeCorrection } from '#lib/differences/corrections.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { requireItem } from '#lib/operator/differences/evidence.ts'
import {
  CORRECTION_BODY_BYTES_MAX,
  correctionRequest,
  DifferenceDetailRead,
} from '#lib/operator/differences/schema.ts'

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Propose an entry that settles a difference',
  body: correctionRequest,
  bodyBytesMax: CORRECTION_BODY_BYTES_MAX,
  response: DifferenceDetailRead,
  errorCodes: ['item_not_found', 'correction_refused'],
  proof: 'required',
  async handle({ user, body: { attachment, ...body }, params: { id = '' } }) {
    const file = Buffer.from(attachment, 'base64')
    await proposeCorrection({ itemId: id, ...body, attachment: file }, user.id)
    return { data: await requireItem(id, user.id) }
  },
})
