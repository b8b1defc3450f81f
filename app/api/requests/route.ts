import { RequestPage, requestsQuery } from '#lib/dashboard/requests/schema.ts'
import { listRequests } from '#lib/dashboard/requests.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { pageResult } from '#lib/http/input.ts'

export const GET = endpoint({
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
})
