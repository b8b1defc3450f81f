import { endpoint } from '#lib/http/endpoint.ts'
import { listIssuedTokens } from '#lib/tokens/change.ts'
import { IssuedTokenList } from '#lib/tokens/schema.ts'

export const GET = endpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'List the active tokens that a member issued, in both modes',
  allow: 'members:read',
  response: IssuedTokenList,
  errorCodes: ['member_not_found'],
  async handle({ account, params: { id = '' } }) {
    return { data: await listIssuedTokens({ accountId: account.id, userId: id }) }
  },
})
