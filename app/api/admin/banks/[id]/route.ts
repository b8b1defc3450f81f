import { refuse } from '#lib/base/errors.ts'
import { adminEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { readBank } from '#lib/views/admin/banks/detail.ts'
import { BankDetailRead } from '#lib/views/admin/banks/schema.ts'

export const GET = adminEndpoint({
  method: 'GET',
  summary: 'Read a connection to a bank, without its secrets',
  response: BankDetailRead,
  errorCodes: ['connection_not_found'],
  async handle({ params: { id = '' } }) {
    const data = await readBank(id)
    if (!data) throw refuse('connection_not_found')
    return { data }
  },
})
