import { refuse } from '#lib/core/errors.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { readBank } from '#lib/operator/banks/list.ts'
import { BankDetailRead } from '#lib/operator/banks/schema.ts'

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
