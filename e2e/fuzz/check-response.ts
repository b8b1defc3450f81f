import type { Outcome } from '#e2e/fuzz/client.ts'
import type { FuzzRequest, Routes } from '#e2e/fuzz/requests.ts'
import type { ParsedResponse } from '#e2e/fuzz/response-parser.ts'
import { isObject } from '#lib/core/fields.ts'
import { API_REFUSALS, REFUSALS } from '#lib/core/refusals.ts'
import { matchRoute } from '#lib/http/routes.ts'

const ERROR_STATUSES = [400, 401, 403, 404, 405, 408, 409, 410, 411, 413, 414, 415, 417, 422, 431]
/** They make the browser known, because the user chose a password or ended the other sessions. */
const MARKING_TARGETS = /^\/api\/(person\/(password|sessions)|visitor\/reset\/confirm)\/*(\?|#|$)/
const FILE_TYPES = /^(text\/csv|image\/(svg\+xml|png)|application\/(x-ofx|pdf))\b/
const API_PIX_TARGETS = /^\/+api\/+pix(\/|\?|$)/
const PROBLEM_TYPE = /^https:\/\/pix\.bcb\.gov\.br\/api\/v2\/error\/[A-Z][A-Za-z]+$/
/** Statuses of responses to unparsable bytes, which have no request id. */
const STATUSES_WITHOUT_REQUEST_ID = [400, 408, 417, 431]

/** Returns the violations of the API contract by an outcome. */
export function checkOutcome(request: FuzzRequest, outcome: Outcome, routes: Routes): string[] {
  const { responses, unparsed, isHung } = outcome
  const hasResponse = responses.length > 0 || ['leave', 'drop'].includes(request.finish)
  const problems = responses.flatMap((response, index) =>
    checkResponse(request, response, index, routes),
  )
  if (isHung) problems.push('the connection hung')
  if (!hasResponse && !isHung) problems.push('no response')
  // Node ends a connection that the client has half closed, even in the response to a second request.
  const isCutByNode = request.finish === 'end' && responses.length > 0
  if (hasResponse && unparsed !== '' && !isCutByNode)
    problems.push(`incomplete response: ${unparsed.slice(0, 100)}`)
  return problems
}

function checkResponse(
  request: FuzzRequest,
  response: ParsedResponse,
  index: number,
  routes: Routes,
): string[] {
  const { status, headers, body } = response
  const label = `response ${index + 1}, ${status}`
  // The API's rate limits are off; the limits of sign-in and the dashboard stay on.
  const isGuarded = status === 429 && /\/(visitor|person|dashboard|admin)\//.test(request.target)
  const isApiPix = API_PIX_TARGETS.test(request.target)
  const isExpected =
    status === 200 ||
    (isApiPix && [201, 204].includes(status)) ||
    ERROR_STATUSES.includes(status) ||
    isGuarded
  const isEmptyHead = request.method === 'HEAD' && body === ''
  if (isBodiless(request, status) || (isApiPix && status < 300 && body === ''))
    return body === '' ? [] : [`${label}: it has a body`]
  const problems: string[] = []
  if (!isExpected) problems.push(`${label}: undocumented status`)
  const type = headers.get('content-type') ?? ''
  // What is no HTTP is refused before its path is read.
  const isProblem = isApiPix && status >= 400 && headers.has('x-request-id')
  const isFile = status === 200 && FILE_TYPES.test(type)
  const expectedType = isProblem ? /^application\/problem\+json$/ : /^application\/json\b/
  if (!isFile && !expectedType.test(type)) problems.push(`${label}: content-type ${type}`)
  const mayMarkDevice = status === 200 && MARKING_TARGETS.test(request.target)
  if (headers.has('set-cookie') && !mayMarkDevice) problems.push(`${label}: it sets a cookie`)
  if (!STATUSES_WITHOUT_REQUEST_ID.includes(status) && !headers.has('x-request-id'))
    problems.push(`${label}: no X-Request-Id`)
  const isApi = request.target.startsWith('/api/')
  if (isApi && status >= 300)
    problems.push(...checkErrorCode(headers).map(text => `${label}: ${text}`))
  if (status === 405 && !headers.has('allow')) problems.push(`${label}: no Allow`)
  const bodyProblem = isProblem
    ? checkProblem(response)
    : status < 300
      ? checkSuccessBody(request, response, routes)
      : checkErrorBody(request, response)
  if (!isEmptyHead && bodyProblem !== null)
    problems.push(`${label}: ${bodyProblem}: ${body.slice(0, 200)}`)
  return problems
}

/** OPTIONS names the methods of a path, and 304 has the version that the request names. */
function isBodiless({ method }: FuzzRequest, status: number): boolean {
  return (status === 204 && method === 'OPTIONS') || status === 304
}

function checkErrorCode(headers: ParsedResponse['headers']): string[] {
  const code = headers.get('x-error-code') ?? ''
  if (!(code in REFUSALS)) return [`X-Error-Code ${code}`]
  const isExplained = headers.get('link')?.endsWith(`/docs/errors#${code}>; rel="help"`)
  return code in API_REFUSALS && !isExplained ? [`Link ${headers.get('link')}`] : []
}

function checkErrorBody(request: FuzzRequest, { status, body }: ParsedResponse): string | null {
  const parsed = parseJson(body)
  if (!isObject(parsed) || Object.keys(parsed).length !== 1) return 'not a documented refusal'
  if (status !== 422) return isText(parsed.error) ? null : 'no {error: string}'
  const isChargeRequest =
    request.method === 'POST' && /^\/api\/+transactions\/*(\?|$)/.test(request.target)
  if (isChargeRequest) return isText(parsed.errors) ? null : 'no {errors: string}'
  const lists = isObject(parsed.errors) ? Object.values(parsed.errors) : []
  const isValid = lists.length > 0 && lists.every(isMessageList)
  return isValid ? null : 'no {errors: {field: [message]}}'
}

function checkProblem({ status, headers, body }: ParsedResponse): string | null {
  const parsed = parseJson(body)
  if (!isObject(parsed)) return 'no problem'
  const { type, title, detail, violacoes = [], correlationId } = parsed
  const isNamed = typeof type === 'string' && PROBLEM_TYPE.test(type) && isText(title)
  const isComplete = isText(detail) && parsed.status === status && Array.isArray(violacoes)
  const isTraced = correlationId === headers.get('x-request-id')
  return isNamed && isComplete && isTraced ? null : 'no problem of API Pix'
}

function checkSuccessBody(
  request: FuzzRequest,
  { headers, body }: ParsedResponse,
  routes: Routes,
): string | null {
  const match = matchRoute(routes, pathOf(request).slice('/api'.length))
  const endpoint = match?.handlers.get(request.method)
  if (!endpoint) return 'success on an unknown route'
  const isFile = FILE_TYPES.test(headers.get('content-type') ?? '')
  const parsed = isFile ? body : parseJson(body)
  const { response } = endpoint.declared ?? endpoint.accountlessDeclaration
  // The path for access tokens is declared without one.
  const issue = response?.safeParse(parsed).error?.issues[0]
  return issue ? `not as declared: ${issue.path.join('.')} ${issue.message}` : null
}

function pathOf({ target }: FuzzRequest): string {
  return target.split(/[?#]/)[0] ?? ''
}

function isMessageList(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isText)
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
