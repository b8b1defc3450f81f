import { refuse } from '#lib/base/errors.ts'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { findRequest } from '#lib/views/dashboard/requests/read.ts'
import { RequestRead } from '#lib/views/dashboard/requests/schema.ts'

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
    const request = await findRequest(account.ref, mode, params.id ?? '')
    if (!request) throw refuse('request_not_found')
    return { data: request }
  },
})
