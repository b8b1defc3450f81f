import { requireActor } from '#lib/base/audit/note.ts'
import { adminEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { correctSettings } from '#lib/services/gateway/check-connection.ts'
import { requireBank, serializeSettings } from '#lib/views/admin/banks/detail.ts'
import { SettingsCorrected } from '#lib/views/admin/banks/schema.ts'

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Have the account at the bank refuse payments that belong to no charge',
  response: SettingsCorrected,
  errorCodes: ['connection_not_found', 'not_supported'],
  proof: 'required',
  async handle({ user, params: { id = '' } }) {
    await requireBank(id)
    return { data: serializeSettings(await correctSettings(id, requireActor(user.id))) }
  },
})
