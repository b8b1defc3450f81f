import { refuse } from '#lib/core/errors.ts'
import { BankRead, bankQuery, readCode } from '#lib/dashboard/bank.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  method: 'GET',
  summary: 'Read a Pix code at the simulated bank',
  allow: 'dashboard:read',
  query: bankQuery,
  response: BankRead,
  errorCodes: ['not_found'],
  async handle({ account, mode, query }) {
    if (mode !== 'test') throw refuse('not_found')
    return { data: await readCode(account.id, query.code) }
  },
})
