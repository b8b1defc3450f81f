import { setTimeout as sleep } from 'node:timers/promises'
import { checkOutcome } from '#e2e/fuzz/check-response.ts'
import { FuzzClient, NO_RESPONSE, type Outcome } from '#e2e/fuzz/client.ts'
import { type FuzzRequest, makeRequest, type Routes } from '#e2e/fuzz/requests.ts'
import { makeWorld, type World } from '#e2e/fuzz/world.ts'
import { loadApiRoutes } from '#lib/http/routes.ts'
import { type ApiProcess, startApiProcess } from '#lib/testing/api-process.ts'

export interface FuzzPlan {
  seeds: number[]
  /** Total over all seeds. */
  requests: number
  /** Number of requests before the first memory measurement, so that caches are full. */
  warmUp: number
  /** Number of the only request to send. */
  only?: number
}

export interface FuzzProblem {
  request: FuzzRequest | null
  message: string
}

const CLIENT_COUNT = 16
const ATTEMPTS_MAX = 5
/**
 * Logged when the database did not respond in time, as happens on a busy machine. A request that
 * it never answers in time is reported by its response.
 */
const UNAVAILABLE = 'database unavailable'
/** Time within which the server must have closed all connections. */
const CLOSE_MAX_MS = 10_000

export class FuzzRun {
  readonly problems: FuzzProblem[] = []
  /** Responses by status; `none` where the client disconnected first. */
  readonly statuses = new Map<string, number>()
  /** Routes of requests without mutations; HEAD counts as GET. */
  readonly sentRoutes = new Set<string>()
  /** Routes in `sentRoutes` that responded with 200. */
  readonly successfulRoutes = new Set<string>()
  slowestMs = 0
  readonly world: World
  readonly api: ApiProcess
  readonly #routes: Routes
  readonly #unfinished: FuzzRequest[] = []

  private constructor(api: ApiProcess, world: World, routes: Routes) {
    this.api = api
    this.world = world
    this.#routes = routes
  }

  static async start(): Promise<FuzzRun> {
    const api = await startApiProcess({ LOG_LEVEL: 'debug' })
    return new FuzzRun(api, await makeWorld(api), await loadApiRoutes())
  }

  /** Returns the bytes of live memory after the warm-up and at the end. */
  async send(plan: FuzzPlan): Promise<{ before: number; after: number }> {
    const { seeds, requests, warmUp, only } = plan
    const requestsPerSeed = Math.ceil(requests / seeds.length)
    const all = Array.from({ length: requests }, (_, index) => ({
      seed: seeds[Math.floor(index / requestsPerSeed)] as number,
      number: index % requestsPerSeed,
    }))
    const selected = only === undefined ? all : [{ seed: seeds[0] as number, number: only }]
    const before = await this.#sendAll(selected.slice(0, warmUp), false)
    const after = await this.#sendAll(selected.slice(warmUp), true)
    this.#findErrors()
    return { before, after }
  }

  /** Sends all requests; those that end only by the server's time limit go last, concurrently. */
  async #sendAll(requests: { seed: number; number: number }[], isLast: boolean): Promise<number> {
    const queue = requests.values()
    const clients = Array.from({ length: CLIENT_COUNT }, () => new FuzzClient(this.api.port))
    const workers = clients.map(async client => {
      for (const { seed, number } of queue) {
        const request = makeRequest(this.world, this.#routes, seed, number)
        if (request.finish === 'wait') this.#unfinished.push(request)
        else await this.#send(client, request)
        if (this.api.exitStatus() !== null) return
      }
    })
    await Promise.all(workers)
    for (const client of clients) client.disconnect()
    const [last] = clients as [FuzzClient]
    const unfinished = isLast ? this.#unfinished.splice(0) : []
    await Promise.all(unfinished.map(request => this.#send(last, request)))
    const bytes = await this.#measure()
    last.destroyWaiting()
    return bytes
  }

  async #measure(): Promise<number> {
    for (const began = Date.now(); ; await sleep(100)) {
      const { bytes, connections, problems } = await this.api.measure()
      if (connections > 0 && Date.now() - began < CLOSE_MAX_MS) continue
      const openProblems = connections > 0 ? [`${connections} connections were never closed`] : []
      for (const message of [...openProblems, ...problems])
        this.problems.push({ request: null, message })
      return bytes
    }
  }

  async #send(client: FuzzClient, request: FuzzRequest): Promise<void> {
    const outcome = await this.#sendUntilProcessed(client, request)
    for (const message of checkOutcome(request, outcome, this.#routes))
      this.problems.push({ request, message })
    const status = String(outcome.responses[0]?.status ?? 'none')
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
    const route = request.validRoute?.replace(/^HEAD /, 'GET ')
    if (route) this.sentRoutes.add(route)
    if (route && ['200', '201', '204'].includes(status)) this.successfulRoutes.add(route)
    if (request.finish !== 'wait') this.slowestMs = Math.max(this.slowestMs, outcome.tookMs)
    const exitStatus = this.api.exitStatus()
    if (exitStatus !== null)
      this.problems.push({ request, message: `the server exited with ${exitStatus}` })
  }

  /**
   * Sends a request again after 503, as a client would: on a busy machine, requests that lock the
   * same account can wait longer than a statement may take.
   */
  async #sendUntilProcessed(client: FuzzClient, request: FuzzRequest): Promise<Outcome> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await client.send(request).catch(() => NO_RESPONSE)
      const isUnavailable = outcome.responses.some(({ status }) => status === 503)
      if (!isUnavailable || attempt === ATTEMPTS_MAX) return outcome
    }
  }

  /** Reports logged errors as problems, whatever the response was. */
  #findErrors(): void {
    for (const line of this.api.readLog().split('\n')) {
      if (!/"level":"(error|fatal)"/.test(line)) continue
      const { msg } = JSON.parse(line) as { msg: string }
      if (msg === UNAVAILABLE) continue
      const [, seed, number] = /"requestId":"fuzz-(\d+)-(\d+)"/.exec(line) ?? []
      const request =
        number === undefined
          ? null
          : makeRequest(this.world, this.#routes, Number(seed), Number(number))
      this.problems.push({ request, message: `logged ${msg}: ${line}` })
    }
  }
}
