import type { createClient } from '@redis/client'
import { log } from '#lib/base/log.ts'

type Client = ReturnType<typeof createClient>
type Script = { keys: string[]; arguments: string[] }

/** Far above any healthy answer; a Redis that hangs costs the requests under way this much, once. */
const ANSWER_MAX_MS = 500
const CONNECT_MAX_MS = 2_000
const RETRY_MS = 1_000

/**
 * What the limiters take for a Redis client. The real one is dropped at its first fault and another
 * is made later, so that nobody waits for a dead one; meanwhile `isReady` is false.
 */
export class RedisLink {
  readonly #url: string
  #client: Client | undefined
  #retry: NodeJS.Timeout | undefined
  #isAway = false
  #isClosed = false

  constructor(url: string) {
    this.#url = url
    void this.#connect()
  }

  get isReady(): boolean {
    return this.#client?.isReady ?? false
  }

  async eval(script: string, values: Script): Promise<unknown> {
    const client = this.#client
    if (!client) throw new Error('Redis is away')
    try {
      const answer = await withinTime(client.eval(script, values))
      this.#noteAnswer()
      return answer
    } catch (error) {
      this.#drop(client, error)
      throw error
    }
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#retry)
    this.#client?.destroy()
    this.#client = undefined
  }

  async #connect(): Promise<void> {
    let client: Client | undefined
    try {
      // Only where it is used: loading it takes longer than all of the rest of this.
      const { createClient } = await import('@redis/client')
      if (this.#isClosed) return
      client = createClient({
        url: this.#url,
        disableOfflineQueue: true,
        // Its own reconnecting would hold the process, and its time-out ends where a command is sent.
        socket: { reconnectStrategy: false, connectTimeout: CONNECT_MAX_MS / 2 },
        commandOptions: { timeout: undefined },
        maintNotifications: 'disabled',
      })
      const made = client
      this.#client = made
      made.on('error', error => this.#drop(made, error))
      made.unref()
      // A host may take the connection and never say a word.
      const timer = setTimeout(() => this.#drop(made, tooLate()), CONNECT_MAX_MS).unref()
      await made.connect().finally(() => clearTimeout(timer))
      // Closed in the meantime: it has connected all the same.
      if (this.#client !== made) made.destroy()
    } catch (error) {
      this.#drop(client, error)
    }
  }

  #noteAnswer(): void {
    if (!this.#isAway) return
    this.#isAway = false
    log().info('Redis is back: the processes share their rate limits again')
  }

  #drop(client: Client | undefined, error: unknown): void {
    client?.destroy()
    if (this.#isClosed || this.#client !== client) return
    this.#client = undefined
    this.#retry = setTimeout(() => this.#connect(), RETRY_MS).unref()
    if (this.#isAway) return
    this.#isAway = true
    const reply = replyCode(error)
    log().warn({ err: error, reply }, 'Redis is away: each process counts its rate limits alone')
  }
}

/** NOAUTH, WRONGPASS, READONLY and so on: what a Redis says in its first word. */
function replyCode(error: unknown): string | undefined {
  return error instanceof Error ? /^[A-Z]{3,}\b/.exec(error.message)?.[0] : undefined
}

function withinTime<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    // If it was our process that stood still, the answer is here: read before giving up.
    const timer = setTimeout(() => setImmediate(() => reject(tooLate())), ANSWER_MAX_MS)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

function tooLate(): Error {
  return new Error('Redis did not answer in time')
}
