import type { createClient } from '@redis/client'
import { log } from '#lib/core/log.ts'

type Client = ReturnType<typeof createClient>
type Script = { keys: string[]; arguments: string[] }

/** Far above the usual time. A hanging Redis delays requests once: its client is then dropped. */
const RESPONSE_TIMEOUT_MS = 500
const CONNECT_TIMEOUT_MS = 2_000
const RETRY_MS = 1_000

/** Replaces its client after the first error: no request waits for a dead connection. */
export class RedisLink {
  readonly #url: string
  #client: Client | undefined
  #retry: NodeJS.Timeout | undefined
  #isUnreachable = false
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
    if (!client) throw new Error('Redis is not connected')
    try {
      const response = await withTimeout(client.eval(script, values))
      this.#markReachable()
      return response
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
      // Imported only if Redis is used: the client loads more slowly than the rest of this module.
      const { createClient } = await import('@redis/client')
      if (this.#isClosed) return
      client = createClient({
        url: this.#url,
        disableOfflineQueue: true,
        // The client's reconnecting would prevent exit; its connect timeout ends with a command.
        socket: { reconnectStrategy: false, connectTimeout: CONNECT_TIMEOUT_MS / 2 },
        commandOptions: { timeout: undefined },
        maintNotifications: 'disabled',
      })
      const newClient = client
      this.#client = newClient
      newClient.on('error', error => this.#drop(newClient, error))
      newClient.unref()
      // A host may accept the connection and never respond.
      const timer = setTimeout(
        () => this.#drop(newClient, timeoutError()),
        CONNECT_TIMEOUT_MS,
      ).unref()
      await newClient.connect().finally(() => clearTimeout(timer))
      // The client was dropped while connecting, but the connection may have been opened.
      if (this.#client !== newClient) newClient.destroy()
    } catch (error) {
      this.#drop(client, error)
    }
  }

  #markReachable(): void {
    if (!this.#isUnreachable) return
    this.#isUnreachable = false
    log().info('Redis reconnected, rate limits are shared again')
  }

  #drop(client: Client | undefined, error: unknown): void {
    client?.destroy()
    if (this.#isClosed || this.#client !== client) return
    this.#client = undefined
    this.#retry = setTimeout(() => this.#connect(), RETRY_MS).unref()
    if (this.#isUnreachable) return
    this.#isUnreachable = true
    const reply = replyCode(error)
    log().warn({ err: error, reply }, 'Redis unavailable, rate limits are counted per process')
  }
}

/** Returns the first word of a Redis error: NOAUTH, WRONGPASS, READONLY and so on. */
function replyCode(error: unknown): string | undefined {
  return error instanceof Error ? /^[A-Z]{3,}\b/.exec(error.message)?.[0] : undefined
}

function withTimeout<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    // If this process was blocked, the response may already be here: let it resolve first.
    const timer = setTimeout(() => setImmediate(() => reject(timeoutError())), RESPONSE_TIMEOUT_MS)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** Has a code, because the log drops the message of an unknown error. */
function timeoutError(): Error {
  return Object.assign(new Error('Redis did not respond in time'), { code: 'ETIMEDOUT' })
}
