import { hash } from 'node:crypto'
import { describeProblem, type ProblemTypes } from '#lib/api-pix/problem.ts'
import { isDatabaseUnavailable, isTrocoError, refuse, type TrocoError } from '#lib/core/errors.ts'
import { keepLogContext, log } from '#lib/core/log.ts'
import {
  API_ERRORS,
  type ApiErrorCode,
  type ErrorCode,
  type FieldProblems,
  INTERNAL_ERROR,
  REFUSALS,
} from '#lib/core/refusals.ts'
import { env } from '#lib/core/settings.ts'
import type { HttpRequest, HttpResponse } from '#lib/http/exchange.ts'

/** With types of problems: application/problem+json, as API Pix has it. */
export type ErrorFormat = 'first_message' | 'field_messages' | ProblemTypes

const JSON_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'private, no-store',
}

export function json(
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): HttpResponse {
  return jsonText(status, JSON.stringify(body), headers)
}

export function jsonText(
  status: number,
  text: string,
  headers: Record<string, string> = {},
): HttpResponse {
  return { status, text, headers: { ...JSON_HEADERS, ...headers } }
}

/** Result of an endpoint whose response is too large for memory or is produced over time. */
interface StreamedResult {
  headers: Record<string, string>
  chunks: AsyncIterable<string>
}

/** Page of a list, serialized entry by entry, each after `mask`. */
export interface PageOfResult {
  serializePage: (mask: Mask) => string
  headers?: Record<string, string>
}

/** A file that was uploaded: browsers save it, and never show it as a page of this site. */
export interface AttachedFile {
  attachment: Buffer<ArrayBuffer>
  type: string
  name: string
}

type Mask = (shown: unknown) => unknown
const showAll: Mask = shown => shown

interface ResultOptions {
  fileType?: string | readonly string[] | undefined
  mask?: Mask | undefined
  status?: number | undefined
}

/** `fileType`: media type of a result with a `file`. `mask`: of a page, it gets each entry. */
export function resultResponse(
  result: unknown,
  { fileType, mask = showAll, status = 200 }: ResultOptions = {},
): HttpResponse {
  if (typeof result === 'object' && result !== null) {
    if (typeof fileType === 'string' && 'file' in result)
      return fileResponse(result.file as string | Buffer<ArrayBuffer>, fileType)
    if ('attachment' in result) return attachmentResponse(result as AttachedFile)
    if ('chunks' in result) return stream(result as StreamedResult)
    if ('serializePage' in result) {
      const { serializePage, headers } = result as PageOfResult
      return jsonText(200, serializePage(mask), headers)
    }
  }
  if (result === undefined)
    return { status, text: '', headers: { 'cache-control': JSON_HEADERS['cache-control'] } }
  return json(status, mask(result))
}

/** The caller may keep the file, but asks before it shows it again: it may be outdated. */
function fileResponse(file: string | Buffer<ArrayBuffer>, type: string): HttpResponse {
  const headers = { 'content-type': type, 'cache-control': 'private, no-cache' }
  const content = typeof file === 'string' ? { text: file } : { text: '', bytes: file }
  return { status: 200, ...content, headers }
}

function attachmentResponse({ attachment, type, name }: AttachedFile): HttpResponse {
  const headers = {
    'content-type': type,
    'content-disposition': `attachment; filename="${name}"`,
    'cache-control': 'private, no-store',
  }
  return { status: 200, text: '', bytes: attachment, headers }
}

/** Whether a request prefers the whole resource to the default response: RFC 7240. */
export function prefersRepresentation({ header }: Pick<HttpRequest, 'header'>): boolean {
  const preferences = (header('prefer') ?? '')
    .split(',')
    .map(text => text.split(';')[0]?.trim() ?? '')
  const values = preferences.map(text => /^return\s*=\s*"?([^"\s]*)"?$/i.exec(text)?.[1])
  return values.find(value => value !== undefined)?.toLowerCase() === 'representation'
}

/** The chunks are computed after the handler has ended, and still count for its account. */
function stream({ headers, chunks: source }: StreamedResult): HttpResponse {
  const chunks = keepLogContext(source)
  return { status: 200, text: '', chunks, headers: { ...JSON_HEADERS, ...headers } }
}

/** An unexpected error is logged, and the response does not contain its reason. */
export function errorResponse(
  error: unknown,
  format: ErrorFormat,
  requestId?: string,
): HttpResponse {
  if (isDatabaseUnavailable(error)) {
    log().error({ err: error }, 'database unavailable')
    return refusalResponse(refuse('service_unavailable'), format, requestId)
  }
  if (!isTrocoError(error) || REFUSALS[error.code].status === INTERNAL_ERROR.status) {
    log().error({ err: error }, 'request failed with an internal error')
    if (typeof format === 'object') return problemResponse(null, format, requestId)
    return json(
      INTERNAL_ERROR.status,
      { error: INTERNAL_ERROR.message },
      codeHeaders(INTERNAL_ERROR.code),
    )
  }
  return refusalResponse(error, format, requestId)
}

function problemResponse(
  error: TrocoError | null,
  types: ProblemTypes,
  requestId: string | undefined,
): HttpResponse {
  const problem = describeProblem(error, types, requestId)
  const headers = error ? headersOf(error) : codeHeaders(INTERNAL_ERROR.code)
  const type = { 'content-type': 'application/problem+json' }
  return json(problem.status, problem, { ...headers, ...type })
}

export function refusalResponse(
  error: TrocoError,
  format: ErrorFormat = 'field_messages',
  requestId?: string,
): HttpResponse {
  if (typeof format === 'object') return problemResponse(error, format, requestId)
  const { status } = REFUSALS[error.code]
  const problems = limitProblems(error.fields ?? { body: [error.message] })
  const body = status === 422 ? errorsBody(problems, format) : { error: error.message }
  const header = format === 'first_message' && error.fields ? fieldsHeader(problems) : {}
  return json(status, body, { ...headersOf(error), ...header })
}

/** Maximum problems of a response: callers correct a few at a time, and hostile bodies have thousands. */
const PROBLEMS_MAX = 20

/** Lists the first problems; if there are more, the last one says how many. */
function limitProblems(fields: FieldProblems): FieldProblems {
  const all = Object.entries(fields).flatMap(([field, messages]) =>
    messages.map(message => ({ field, message })),
  )
  if (all.length <= PROBLEMS_MAX) return fields
  const shown = all.slice(0, PROBLEMS_MAX - 1)
  const hidden = all.length - shown.length
  const last = { field: all[shown.length]?.field ?? 'body', message: `and ${hidden} more problems` }
  // A field may be named __proto__.
  const grouped = Map.groupBy([...shown, last], ({ field }) => field)
  return Object.fromEntries(
    [...grouped].map(([field, problems]) => [field, problems.map(({ message }) => message)]),
  )
}

function errorsBody(fields: FieldProblems, format: ErrorFormat): { errors: unknown } {
  if (format === 'field_messages') return { errors: fields }
  return { errors: Object.values(fields)[0]?.[0] ?? 'Invalid input' }
}

const FIELD_NAME = /^\w{1,64}$/

/** Names the invalid fields, because the body has only the first message. */
function fieldsHeader(fields: FieldProblems): Record<string, string> {
  const names = Object.keys(fields).filter(name => FIELD_NAME.test(name))
  return names.length > 0 ? { 'x-error-fields': names.join(' ') } : {}
}

/** Path of the page that explains all error codes; each has a section with its own name. */
export const ERRORS_PATH = '/docs/errors'
const EXPLAINED_CODES = new Set<string>(API_ERRORS.map(({ code }) => code))

/** Names the code and, if API clients can get it, links to its explanation. */
export function codeHeaders(code: ErrorCode | ApiErrorCode): Record<string, string> {
  if (!EXPLAINED_CODES.has(code)) return { 'x-error-code': code }
  const page = `${env().PUBLIC_URL}${ERRORS_PATH}#${code}`
  return { 'x-error-code': code, link: `<${page}>; rel="help"` }
}

export function headersOf(error: TrocoError): Record<string, string> {
  const headers = codeHeaders(error.code)
  for (const [name, value] of Object.entries(REFUSALS[error.code].headers ?? {})) {
    const text = typeof value === 'string' ? value : value(error)
    if (text) headers[name] = text
  }
  return headers
}

/**
 * Adds an entity tag of the body, so that a client may keep the response and ask whether it has changed.
 * It is strong: equal tags mean equal bytes. 304 if the client has this version.
 */
export function withEtag(
  { header }: Pick<HttpRequest, 'header'>,
  response: HttpResponse,
): HttpResponse {
  const etag = `"${hash('sha256', response.bytes ?? response.text, 'base64url').slice(0, 22)}"`
  const headers: Record<string, string> = {
    ...response.headers,
    etag,
    'cache-control': 'private, no-cache',
  }
  if (!isNamed(etag, header('if-none-match'))) return { ...response, headers }
  const { 'content-type': _, ...others } = headers
  return { status: 304, headers: others, text: '' }
}

/** Returns whether `If-None-Match` names the tag. Weak tags match too, as RFC 9110 demands: a proxy may have weakened the tag. */
export function isNamed(etag: string, tags: string | null | undefined): boolean {
  if (!tags) return false
  return tags.trim() === '*' || tags.split(',').some(tag => tag.trim().replace(/^W\//, '') === etag)
}
