import { approveCorrection } from '#lib/differences/corrections.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { requireItem } from '#lib/operator/differences/evidence.ts'
import { DifferenceDetailRead } from '#lib/operator/differences/schema.ts'

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Book an entry that another admin proposed',
  response: DifferenceDetailRead,
  errorCodes: ['item_not_found', 'end_by_other', 'correction_refused'],
  proof: 'required',
  async handle({ user, params: { id = '', correction_id: correctionId = '' } }) {
    await approveCorrection(correctionId, id, user.id)
    return { data: await requireItem(id, user.id) }
  },
})
