import { type LogContext, type TraceContext, withLogContext } from '#lib/core/log.ts'
import { continueTrace, isExported, recordSpan } from '#lib/core/trace.ts'
import { countTestRequest } from '#lib/db/test-usage.ts'
import { type Caller, readTokenPrefix } from '#lib/http/caller.ts'
import { type Declaration, storesTestData } from '#lib/http/declaration.ts'
import type { HttpRequest, HttpResponse } from '#lib/http/exchange.ts'
import { type Ignored, ignoredHeaders } from '#lib/http/input.ts'
import { type Allowance, allowanceHeaders, Places } from '#lib/http/rate-limit.ts'
import { countRequest } from '#lib/http/request-counts.ts'
import { type LoggedBody, noteRequest } from '#lib/http/request-log.ts'
import { type ErrorFormat, errorResponse } from '#lib/http/response.ts'

/** The caller did nothing wrong, so the span has failed. */
const SERVER_ERROR = 500

/** Assumed size of a body without Content-Length: the largest one. */
const BODY_BYTES_MAX = 64 * 1024

/** Stored promises keep a repeated check from taking a place, or reading the body, twice. */
export interface RequestState {
  incoming: HttpRequest
  logContext: LogContext
  allowances: Allowance[]
  places: Places
  ignored: Ignored
  exportPlace?: Promise<void>
  caller: Caller | null
  declared: Declaration<unknown, unknown> | null
  content?: Promise<Record<string, unknown>>
  body?: LoggedBody
}

/** Runs `respond` in the request's log context, and adds the headers that every response has. */
export function respondTo(
  incoming: HttpRequest,
  errorFormat: ErrorFormat = 'field_messages',
  respond: (state: RequestState) => Promise<HttpResponse>,
): Promise<HttpResponse> {
  const { requestId, ip, logContext: ofFront = {} } = incoming
  const tokenPrefix = readTokenPrefix(incoming)
  const trace = continueTrace(incoming.header('traceparent'), requestId)
  const context = Object.assign(ofFront, { requestId, ip, tokenPrefix, trace })
  return withLogContext(context, async logContext => {
    const began = performance.now()
    const places = new Places()
    const state: RequestState = {
      incoming,
      logContext,
      allowances: [],
      places,
      ignored: {},
      caller: null,
      declared: null,
    }
    const response = await respond(state).catch(error =>
      errorResponse(error, errorFormat, requestId),
    )
    // A large body would outlive the collections of young objects while the response is sent.
    state.content = undefined
    if (!places.isEmpty || isExported())
      incoming.onEnd(() => {
        places.release()
        traceRequest(trace, state, response, performance.now() - began)
      })
    if (state.allowances.length > 0)
      Object.assign(response.headers, allowanceHeaders(state.allowances))
    Object.assign(response.headers, ignoredHeaders(state.ignored))
    countStored(state, response)
    const tookMs = performance.now() - began
    if (tokenPrefix !== undefined) {
      countRequest(response.status, tookMs)
      const { caller, declared, body } = state
      noteRequest({ incoming, response, caller, declared, body, tookMs })
    }
    return response
  })
}

/** Counts what a request of the test mode has stored; a replayed response has stored nothing. */
function countStored({ caller, declared, incoming }: RequestState, response: HttpResponse): void {
  if (caller?.mode !== 'test' || !declared || !storesTestData(declared)) return
  if (response.status >= 300 || response.headers['idempotent-replayed'] !== undefined) return
  const bodyBytesMax = declared.bodyBytesMax ?? BODY_BYTES_MAX
  const bodyBytes = Number(incoming.header('content-length') ?? bodyBytesMax)
  countTestRequest(caller.account.id, bodyBytes)
}

function traceRequest(
  trace: TraceContext,
  { incoming, logContext, caller }: RequestState,
  { status, headers }: HttpResponse,
  tookMs: number,
): void {
  const { method, route } = incoming
  const { requestId, accountId } = logContext
  // Without a template: the notices of banks, whose path contains a secret.
  const name = route || 'bank notices'
  recordSpan(() => ({
    trace,
    name: `${method} ${name}`,
    kind: 'server',
    endMs: Date.now(),
    tookMs,
    isFailed: status >= SERVER_ERROR,
    attributes: {
      'http.request.method': method,
      'http.route': name,
      'http.response.status_code': status,
      'error.type': headers['x-error-code'],
      'troco.request_id': requestId,
      'troco.account_id': accountId,
      'troco.mode': caller?.mode,
    },
  }))
}
