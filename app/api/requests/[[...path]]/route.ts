import { refuse } from '#lib/core/errors.ts'
import { RequestPage, RequestRead, requestsQuery } from '#lib/dashboard/requests/schema.ts'
import { findRequest, listRequests } from '#lib/dashboard/requests.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { pageResult } from '#lib/http/input.ts'
import { endpoints } from '#lib/http/routes.ts'

export const { GET } = endpoints({
  'GET /requests': endpoint({
    method: 'GET',
    operationId: 'listRequests',
    isCompressible: true,
    summary: 'List API requests',
    description:
      'Returns the requests that your tokens sent, newest first: those of the last 7 days, up to about 10,000. They are stored within a second of the response. When very many arrive at once, some are not, and those of the last moment are lost if the server crashes. Requests to this log are not in it.',
    allow: 'requests:read',
    query: requestsQuery,
    response: RequestPage,
    isUnlogged: true,
    async handle({ account, mode, query }) {
      return pageResult(await listRequests(account.id, mode, query))
    },
  }),
  'GET /requests/[id]': endpoint({
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
  }),
})
