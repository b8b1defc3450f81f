import type { AnswerOf, Method, OptionsOf, PathOf } from '#components/api/routes.ts'
import { REVIEWED_AMOUNT_HEADER } from '#lib/core/headers.ts'
import type { Mode } from '#lib/core/mode.ts'

/** User, account and mode of a page; the account is null for a user without one. */
export interface ApiScope {
  mode: Mode
  /** Null on pages for visitors. */
  userId: string | null
  accountId: string | null
}

/** Headers of a refusal above a limit; `amount` in cents. */
export interface LimitDetails {
  name: string
  amount: number | null
  freesAt: string | null
}

/** Dispatched before the sign-in page replaces a page whose session has ended. */
export const SESSION_ENDED_EVENT = 'troco-session-ended'

/**
 * `code` is the X-Error-Code of the response, or `network` (`not_sent` after a write) if none arrived. A read
 * that fails with `service_unavailable` has the code `unread`: nothing was to be saved.
 */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly fields: Record<string, string[]>
  /** Id of the request in the server's log. */
  readonly requestId: string | null
  /** With the code `limit_exceeded`. */
  readonly limit: LimitDetails | null

  constructor(status: number, code: string, details: Partial<ApiError> = {}) {
    super(details.message ?? code)
    this.name = 'ApiProblem'
    this.status = status
    this.code = code
    this.fields = details.fields ?? {}
    this.requestId = details.requestId ?? null
    this.limit = details.limit ?? null
  }
}

interface Handling {
  /** The same in every attempt of one action, so that the action happens once. */
  idempotencyKey?: string
  /** Amount of a charge that the user has reviewed, in cents. */
  reviewedAmount?: number
  signal?: AbortSignal
}

interface RequestOptions extends Handling {
  params?: Record<string, string>
  query?: object
  body?: unknown
}

type Call<Name extends Method> = <Path extends PathOf<Name>>(
  path: Path,
  ...options: OptionsOf<Name, Path, Handling>
) => Promise<AnswerOf<Name, Path>>

/** Knows path, query, body and response of each endpoint from its declaration. */
export interface Api {
  scope: ApiScope
  get: Call<'GET'>
  post: Call<'POST'>
  put: Call<'PUT'>
  patch: Call<'PATCH'>
  delete: Call<'DELETE'>
  /** For files and streams. */
  fetchRaw: <Path extends PathOf<'GET'>>(
    path: Path,
    ...options: OptionsOf<'GET', Path, Handling>
  ) => Promise<Response>
}

/** The part of the client that queries need: its scope, for their keys, and `get`. */
export type Reader = Pick<Api, 'scope' | 'get'>

/** Asks the user to prove their identity again; false if they cancel. */
export type RequestProof = () => Promise<boolean>

/** Creates a client of the public API that calls as the signed-in member. */
export function createApi(scope: ApiScope, requestProof?: RequestProof): Api {
  const request = async (
    method: string,
    path: string,
    options: RequestOptions = {},
  ): Promise<Response> => {
    const { body, idempotencyKey, reviewedAmount, signal } = options
    const url = `/api${urlOf(path, options)}`
    const headers: Record<string, string> = {}
    if (scope.accountId !== null) {
      headers['troco-mode'] = scope.mode
      headers['troco-account'] = scope.accountId
    }
    if (body !== undefined) headers['content-type'] = 'application/json'
    if (idempotencyKey) headers['idempotency-key'] = idempotencyKey
    if (reviewedAmount !== undefined) headers[REVIEWED_AMOUNT_HEADER] = String(reviewedAmount)
    const init = { method, headers, body: JSON.stringify(body), signal }
    const response = await fetch(url, init).catch(error => {
      if (signal?.aborted) throw error
      throw new ApiError(0, method === 'GET' ? 'network' : 'not_sent')
    })
    if (response.status === 401) {
      dispatchEvent(new Event(SESSION_ENDED_EVENT))
      const currentPath = location.pathname + location.search
      location.assign(`/login?next=${encodeURIComponent(currentPath)}&ended`)
    }
    if (response.ok) return response
    const problem = await readError(response, method)
    if (problem.code === 'proof_required' && (await requestProof?.()))
      return request(method, path, options)
    throw problem
  }
  const callWith =
    <Name extends Method>(method: Name) =>
    async <Path extends PathOf<Name>>(path: Path, ...options: OptionsOf<Name, Path, Handling>) =>
      (await request(method, path, options[0] as RequestOptions)).json()
  return {
    scope,
    get: callWith('GET'),
    post: callWith('POST'),
    put: callWith('PUT'),
    patch: callWith('PATCH'),
    delete: callWith('DELETE'),
    fetchRaw: (path, ...options) => request('GET', path, options[0] as RequestOptions),
  }
}

/** Fills in the variable parts of a path and adds the query. */
function urlOf(path: string, { params = {}, query = {} }: RequestOptions): string {
  const filled = path.replace(/\[(\w+)\]/g, (_, name) => encodeURIComponent(params[name] ?? ''))
  const search = new URLSearchParams(
    Object.entries(query).filter(([, value]) => value !== undefined),
  )
  return search.size > 0 ? `${filled}?${search}` : filled
}

export function createVisitorApi(): Api {
  return createApi({ mode: 'test', userId: null, accountId: null })
}

async function readError(response: Response, method: string): Promise<ApiError> {
  const given = response.headers.get('x-error-code') ?? String(response.status)
  const code = method === 'GET' && given === 'service_unavailable' ? 'unread' : given
  const body = await response.json().catch(() => ({}))
  const message = typeof body.errors === 'string' ? body.errors : body.error
  const fieldNames = response.headers.get('x-error-fields')?.split(' ') ?? []
  const headerFields = Object.fromEntries(fieldNames.map(name => [name, [message]]))
  const fields = typeof body.errors === 'object' ? body.errors : headerFields
  return new ApiError(response.status, code, {
    fields,
    message,
    requestId: response.headers.get('x-request-id'),
    limit: readLimit(response.headers),
  })
}

function readLimit(headers: Headers): LimitDetails | null {
  const name = headers.get('x-limit')
  if (name === null) return null
  const amount = headers.get('x-limit-amount')
  const freesAt = headers.get('x-limit-frees-at')
  return { name, amount: amount === null ? null : Number(amount), freesAt }
}

export function fileNameOf(response: Response, defaultName: string): string {
  const header = response.headers.get('content-disposition') ?? ''
  return /filename="([^"]+)"/.exec(header)?.[1] ?? defaultName
}

export function saveAs(file: Blob, name: string): void {
  const href = URL.createObjectURL(file)
  Object.assign(document.createElement('a'), { href, download: name }).click()
  // Some browsers read the file only after the click event has finished.
  setTimeout(() => URL.revokeObjectURL(href), 60_000)
}
