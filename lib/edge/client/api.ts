import type { Mode } from '#lib/base/mode.ts'

/** Account and mode that a page shows; the account is null for a user without one. */
export interface World {
  mode: Mode
  accountId: string | null
}

/** Failed API call. `code` is the X-Error-Code of the response, or `network` if none arrived. */
export class ApiProblem extends Error {
  readonly status: number
  readonly code: string
  readonly fields: Record<string, string[]>
  /** Id of the request in the server's log. */
  readonly requestId: string | null

  constructor(status: number, code: string, said: Partial<ApiProblem> = {}) {
    super(said.message ?? code)
    this.name = 'ApiProblem'
    this.status = status
    this.code = code
    this.fields = said.fields ?? {}
    this.requestId = said.requestId ?? null
  }
}

interface Order {
  body?: unknown
  /** Same value for every attempt of one action, so that it happens once. */
  idempotencyKey?: string
  signal?: AbortSignal
}

export interface Api {
  world: World
  get: <Said>(path: string, signal?: AbortSignal) => Promise<Said>
  send: <Said>(
    method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    order?: Order,
  ) => Promise<Said>
  /** Returns the raw response, for streams. */
  open: (path: string, signal?: AbortSignal) => Promise<Response>
}

/** Asks the user to prove their identity again; false if they cancel. */
export type AskProof = () => Promise<boolean>

/** Creates a client of the public API that calls as the signed-in member. */
export function createApi(world: World, askProof?: AskProof): Api {
  const ask = async (method: string, path: string, order: Order = {}): Promise<Response> => {
    const { body, idempotencyKey, signal } = order
    const headers: Record<string, string> = {}
    if (world.accountId !== null) {
      headers['troco-mode'] = world.mode
      headers['troco-account'] = world.accountId
    }
    if (body !== undefined) headers['content-type'] = 'application/json'
    if (idempotencyKey) headers['idempotency-key'] = idempotencyKey
    const init = { method, headers, body: JSON.stringify(body), signal }
    const answer = await fetch(`/api${path}`, init).catch(error => {
      if (signal?.aborted) throw error
      throw new ApiProblem(0, 'network')
    })
    if (answer.status === 401) {
      location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`)
    }
    if (answer.ok) return answer
    const problem = await problemOf(answer)
    if (problem.code === 'proof_required' && (await askProof?.())) return ask(method, path, order)
    throw problem
  }
  return {
    world,
    get: async (path, signal) => (await ask('GET', path, { signal })).json(),
    send: async (method, path, order) => (await ask(method, path, order)).json(),
    open: (path, signal) => ask('GET', path, { signal }),
  }
}

export function visitorApi(): Api {
  return createApi({ mode: 'test', accountId: null })
}

async function problemOf(answer: Response): Promise<ApiProblem> {
  const code = answer.headers.get('x-error-code') ?? String(answer.status)
  const said = await answer.json().catch(() => ({}))
  const message = typeof said.errors === 'string' ? said.errors : said.error
  const names = answer.headers.get('x-error-fields')?.split(' ') ?? []
  const named = Object.fromEntries(names.map(name => [name, [message]]))
  const fields = typeof said.errors === 'object' ? said.errors : named
  return new ApiProblem(answer.status, code, {
    fields,
    message,
    requestId: answer.headers.get('x-request-id'),
  })
}
