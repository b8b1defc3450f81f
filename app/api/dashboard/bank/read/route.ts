import { BankRead, bankQuery, readCode } from '#lib/dashboard/bank.ts'
import { TrocoError } from '#lib/errors.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  summary: 'Read a code as the simulated bank does',
  allow: 'dashboard:read',
  query: bankQuery,
  answer: BankRead,
  refuses: ['not_found'],
  async handle({ account, mode, query }) {
    if (mode !== 'test') throw new TrocoError('not_found', 'Not found')
    return { data: await readCode(account.id, query.code) }
  },
})
