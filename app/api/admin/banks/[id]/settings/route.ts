import { requireActor } from '#lib/audit/record.ts'
import { correctSettings } from '#lib/banks/connection-setup.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { requireBank, serializeSettings } from '#lib/operator/banks/list.ts'
import { SettingsCorrected } from '#lib/operator/banks/schema.ts'

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
