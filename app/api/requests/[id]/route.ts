import { refuse } from '#lib/core/errors.ts'
import { RequestRead } from '#lib/dashboard/requests/schema.ts'
import { findRequest } from '#lib/dashboard/requests.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  method: 'GET',
  operationId: 'getRequest',
  hasEtag: true,
  summary: 'Read an API request',
  description: 'Returns a request with its bodies, without personal data.',
  allow: 'requests:read',
  response: RequestRead,
  errorCodes: ['request_not_found'],
  isUnlogged: true,
  async handle({ account, mode, params }) {
    const request = await findRequest(account.id, mode, params.id ?? '')
    if (!request) throw refuse('request_not_found')
    return { data: request }
  },
})
