import type { Answer } from '#e2e/fuzz/answers.ts'
import type { Outcome } from '#e2e/fuzz/line.ts'
import type { FuzzRequest, Routes } from '#e2e/fuzz/requests.ts'
import { isObject } from '#lib/base/fields.ts'
import { matchRoute } from '#lib/edge/server/routes.ts'

const REFUSALS = [400, 401, 403, 404, 405, 408, 409, 410, 411, 413, 415, 417, 422, 431]
const FILE_TYPES = /^(text\/csv|application\/x-ofx)\b/
/** Statuses of bytes that are no request and have no request id. */
const BROKEN = [400, 408, 417, 431]

/** Returns how an outcome violates the contract. */
export function judge(request: FuzzRequest, outcome: Outcome, routes: Routes): string[] {
  const { answers, rest, isHung } = outcome
  const isAnswered = answers.length > 0 || ['leave', 'drop'].includes(request.finish)
  const problems = answers.flatMap((answer, at) => judgeAnswer(request, answer, at, routes))
  if (isHung) problems.push('the connection hung')
  if (!isAnswered && !isHung) problems.push('no response')
  if (isAnswered && rest !== '') problems.push(`incomplete response: ${rest.slice(0, 100)}`)
  return problems
}

function judgeAnswer(request: FuzzRequest, answer: Answer, at: number, routes: Routes): string[] {
  const { status, headers, body } = answer
  const said = `response ${at + 1}, ${status}`
  // The API's rate limits are off; those on sign-in and the dashboard stay on.
  const isGuarded = status === 429 && /\/(visitor|person|dashboard|admin)\//.test(request.target)
  const isKnown = status === 200 || REFUSALS.includes(status) || isGuarded
  const isBare = request.method === 'HEAD' && body === ''
  const problems: string[] = []
  if (!isKnown) problems.push(`${said}: undocumented status`)
  const type = headers.get('content-type') ?? ''
  const isFile = status === 200 && FILE_TYPES.test(type)
  if (!isFile && !/^application\/json\b/.test(type)) problems.push(`${said}: content-type ${type}`)
  if (headers.has('set-cookie')) problems.push(`${said}: it sets a cookie`)
  if (!BROKEN.includes(status) && !headers.has('x-request-id'))
    problems.push(`${said}: no X-Request-Id`)
  if (status === 405 && !headers.has('allow')) problems.push(`${said}: no Allow`)
  const shape = status === 200 ? success(request, answer, routes) : refusal(request, answer)
  if (!isBare && shape !== null) problems.push(`${said}: ${shape}: ${body.slice(0, 200)}`)
  return problems
}

function refusal(request: FuzzRequest, { status, body }: Answer): string | null {
  const said = parse(body)
  if (!isObject(said) || Object.keys(said).length !== 1) return 'not a documented refusal'
  if (status !== 422) return isText(said.error) ? null : 'no {error: string}'
  const isFirst = request.method === 'POST' && /^\/api\/+transactions\/*(\?|$)/.test(request.target)
  if (isFirst) return isText(said.errors) ? null : 'no {errors: string}'
  const lists = isObject(said.errors) ? Object.values(said.errors) : []
  const isGood = lists.length > 0 && lists.every(isMessages)
  return isGood ? null : 'no {errors: {field: [message]}}'
}

function success(request: FuzzRequest, { headers, body }: Answer, routes: Routes): string | null {
  const match = matchRoute(routes, pathOf(request).slice('/api'.length))
  const endpoint = match?.handlers.get(request.method)
  if (!endpoint) return 'success on an unknown route'
  const isFile = FILE_TYPES.test(headers.get('content-type') ?? '')
  const said = isFile ? body : parse(body)
  const issue = (endpoint.declared ?? endpoint.access).response.safeParse(said).error?.issues[0]
  return issue ? `not as declared: ${issue.path.join('.')} ${issue.message}` : null
}

function pathOf({ target }: FuzzRequest): string {
  return target.split(/[?#]/)[0] ?? ''
}

function isMessages(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isText)
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
