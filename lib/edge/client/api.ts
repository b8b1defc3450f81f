import type { Mode } from '#lib/base/mode.ts'

/** What a page shows: one account, in one of its worlds; null where it belongs to none. */
export interface World {
  mode: Mode
  accountId: string | null
}

/** Why a call was refused, or never arrived: `network`. The code is the X-Error-Code of the answer. */
export class ApiProblem extends Error {
  readonly status: number
  readonly code: string
  readonly fields: Record<string, string[]>
  /** By which the operator finds it in the log. */
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
  /** The same for every try of the same wish, so that it happens once. */
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
  /** The answer itself, for what is read as it comes. */
  open: (path: string, signal?: AbortSignal) => Promise<Response>
}

/** Asks whoever is there to show again who they are; false when they would rather not. */
export type AskProof = () => Promise<boolean>

/** The same API as any program's, called as the member who is signed in. */
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

/** For pages that nobody needs to sign in for. */
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
