import { requireActor } from '#lib/audit/record.ts'
import { registerNoticeAddress } from '#lib/banks/notices.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { requireBank, serializeNotices } from '#lib/operator/banks/list.ts'
import { NoticesRegistered, noticesRequest } from '#lib/operator/banks/schema.ts'

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Register the address for notices at a bank, and replace another one only on request',
  body: noticesRequest,
  response: NoticesRegistered,
  errorCodes: ['connection_not_found', 'not_supported'],
  proof: 'required',
  async handle({ user, body, params: { id = '' } }) {
    await requireBank(id)
    const options = { replacesForeign: body.replaces_foreign }
    const result = await registerNoticeAddress(id, requireActor(user.id), options)
    return { data: serializeNotices(result) }
  },
})
