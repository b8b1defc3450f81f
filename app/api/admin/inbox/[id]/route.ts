import { refuse } from '#lib/base/errors.ts'
import { adminEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { readItem } from '#lib/views/admin/inbox/evidence.ts'
import { InboxDetailRead } from '#lib/views/admin/inbox/schema.ts'

export const GET = adminEndpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'Read an item of the inbox with the evidence of both sides',
  response: InboxDetailRead,
  errorCodes: ['item_not_found'],
  async handle({ params: { id = '' } }) {
    const data = await readItem(id)
    if (!data) throw refuse('item_not_found')
    return { data }
  },
})
