import {
  type Connection,
  DatabaseError,
  Pool,
  type PoolClient,
  type PoolConfig,
  type QueryConfig,
  type QueryResult,
  type QueryResultRow,
  type Submittable,
} from 'pg'
import { Turns } from '#lib/core/concurrency.ts'
import { connectionTimeout, isDatabaseUnavailable } from '#lib/core/errors.ts'
import { currentLogContext } from '#lib/core/log.ts'

/** Longest wait for a connection while other requests make progress. */
const WAIT_MAX_MS = 30_000

type Callback = Parameters<Pool['connect']>[0]

/** Everybody whose account is not known yet: anybody can send from many addresses and with many tokens. */
const UNKNOWN = 'unknown'
/** Work of the process itself. */
const JOBS = 'jobs'
/** Statements that requests of several accounts share. */
const SHARED = 'shared'
/** Above it, shares of accounts that use and wait for nothing are deleted. */
const SHARES_MAX = 1_000

/** The time for which one account has used connections, and its requests that wait for one. */
class Share {
  readonly account: string
  /** Keys are callers. An account has one key; unknown callers have one for each token or address. */
  readonly waiting = new Turns()
  #usedMs = 0
  #running = 0
  #startedSum = 0

  constructor(account: string) {
    this.account = account
  }

  get running(): number {
    return this.#running
  }

  get isIdle(): boolean {
    return this.#running === 0 && this.waiting.isEmpty
  }

  /** Includes the time of the connections in use. */
  usedMsAt(now: number): number {
    return this.#usedMs + this.#running * now - this.#startedSum
  }

  /** Gives up an advantage from a time in which others used what this account did not need. */
  raiseTo(usedMs: number, now: number): void {
    this.#usedMs += Math.max(0, usedMs - this.usedMsAt(now))
  }

  start(now: number): void {
    this.#running++
    this.#startedSum += now
  }

  end(startedAt: number): void {
    this.#running--
    this.#startedSum -= startedAt
    this.#usedMs += performance.now() - startedAt
    this.forgetIdle()
  }

  /** An account that uses and waits for nothing begins again like a new one. */
  forgetIdle(): void {
    if (this.isIdle) this.#usedMs = 0
  }
}

/** Whether the server has refused a statement, and the connection is as good as before. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof DatabaseError && error.severity === 'ERROR' && !isDatabaseUnavailable(error)
  )
}

export type TextRow = (string | null)[]

interface TextStatement {
  name: string | undefined
  text: string
  values: (string | null)[]
}

type Ended<Result> = (error: Error | null, result?: Result) => void

/** With members of the driver that its types omit. */
type StatementConnection = Connection & {
  parsedStatements: Record<string, string>
  parse(statement: { name: string | undefined; text: string }): void
  bind(values: { statement: string | undefined; values: unknown[] }): void
  execute(): void
}

/**
 * A statement whose parameters and columns are texts. The driver's own query copies its configuration, and has PostgreSQL
 * describe the columns each time: a quarter of the work of this process for a short statement.
 */
class TextQuery implements Submittable {
  readonly name: string | undefined
  readonly text: string
  readonly callback: Ended<TextRow[]>
  readonly #values: TextStatement['values']
  readonly #rows: TextRow[] = []

  constructor({ name, text, values }: TextStatement, callback: Ended<TextRow[]>) {
    this.name = name
    this.text = text
    this.#values = values
    this.callback = callback
  }

  submit(shown: Connection): void {
    const connection = shown as StatementConnection
    const { name, text } = this
    connection.stream.cork()
    if (name === undefined || connection.parsedStatements[name] !== text)
      connection.parse({ name, text })
    connection.bind({ statement: name, values: this.#values })
    connection.execute()
    connection.sync()
    connection.stream.uncork()
  }

  handleDataRow({ fields }: { fields: TextRow }): void {
    this.#rows.push(fields)
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.callback(null, this.#rows)
  }

  handleError(error: Error): void {
    this.callback(error)
  }
}

/** With members of the driver that its types omit. */
type Member = PoolClient & {
  _queryable: boolean
  _ending: boolean
  _activeQuery: unknown
  _queryQueue: unknown[]
  connectionParameters: { query_timeout: number | undefined }
}

interface Idle {
  client: Member
  since: number
}

/**
 * Whether the next statement of a connection runs at once and in a transaction of its own. A transaction whose statements
 * exceed their limits is released while its ROLLBACK is not even sent.
 */
function isAtRest(client: Member): boolean {
  const { _queryable, _ending, _activeQuery, _queryQueue } = client
  const status = client.getTransactionStatus()
  return (
    _queryable &&
    !_ending &&
    !_activeQuery &&
    _queryQueue.length === 0 &&
    (status === null || status === 'I')
  )
}

function refuseRelease(): never {
  throw new Error('A connection was released twice')
}

/** Connections are closed after this time without use: the default of the driver's pool. */
const IDLE_MAX_MS = 10_000

/**
 * Pool whose next free connection goes to the account that has used connections for the shortest
 * time, so that many or long statements of one account delay others by one of them each. Callers
 * whose account is not known yet count as one account, in which they take turns. While statements
 * finish, requests wait instead of failing; if none finishes within `connectionTimeoutMillis`, the
 * database is taken as unavailable.
 */
export class FairPool extends Pool {
  readonly #stallMs: number
  readonly #max: number
  readonly #shares = new Map<string, Share>()
  /** The last one returned is the next one lent: its session is the warmest. */
  readonly #idle: Idle[] = []
  readonly #closers = new WeakMap<PoolClient, (error?: Error | boolean) => void>()
  readonly #idleMaxMs: number
  #reaper: NodeJS.Timeout | undefined
  #running = 0
  #lastProgressAt = 0
  /** Time used by the account that last got a connection. An account that did not wait begins with it. */
  #levelMs = 0

  constructor(config: PoolConfig & { max: number; connectionTimeoutMillis: number }) {
    super(config)
    this.#max = config.max
    this.#stallMs = config.connectionTimeoutMillis
    this.#idleMaxMs = config.idleTimeoutMillis ?? IDLE_MAX_MS
  }

  /** `waitingCount` and `idleCount` of the pool are always 0: requests wait here, and connections are idle here. */
  get use(): { inUse: number; idle: number; waiting: number } {
    const shares = [...this.#shares.values()]
    const waiting = shares.reduce((sum, share) => sum + share.waiting.size, 0)
    return { inUse: this.#running, idle: this.#idle.length, waiting }
  }

  /** Runs one statement, whose refusal by the server does not cost its connection, as it does with `query`. */
  run<Row extends QueryResultRow>(statement: QueryConfig): Promise<QueryResult<Row>> {
    return this.#send((client, onEnd: Ended<QueryResult<Row>>) =>
      client.query<Row>(statement, onEnd),
    )
  }

  /**
   * The same for a statement that requests of several accounts share. It gets one of the next free connections, up to half
   * of all: many wait for it.
   */
  runShared(statement: TextStatement): Promise<TextRow[]> {
    return this.#send(
      (client, onEnd: Ended<TextRow[]>) => client.query(new TextQuery(statement, onEnd)),
      true,
    )
  }

  /**
   * Sends a statement, within the time limit of the connection. The driver's own timer and promise would keep each result in
   * memory until a full collection: with them, a page of 20 charges took 60 µs more to collect.
   */
  #send<Result>(
    send: (client: PoolClient, onEnd: Ended<Result>) => void,
    isShared = false,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#request((error, client) => {
        if (!client) return reject(error)
        const { connectionParameters } = client as Member
        const limitMs = connectionParameters.query_timeout
        const end: Ended<Result> = (error, result) => {
          if (isEnded) return
          isEnded = true
          clearTimeout(timer)
          client.release(error === null || isRefusal(error) ? undefined : error)
          if (error) reject(error)
          else resolve(result as Result)
        }
        let isEnded = false
        const timer = limitMs
          ? setTimeout(() => end(new Error('Query read timeout')), limitMs)
          : undefined
        connectionParameters.query_timeout = undefined
        try {
          send(client, end)
        } catch (error) {
          end(error as Error)
        }
        connectionParameters.query_timeout = limitMs
      }, isShared)
    })
  }

  override connect(): Promise<PoolClient>
  override connect(callback: Callback): void
  override connect(callback?: Callback): Promise<PoolClient> | undefined {
    if (callback) {
      this.#request(callback)
      return undefined
    }
    return new Promise((resolve, reject) => {
      this.#request((error, client) => (client ? resolve(client) : reject(error)))
    })
  }

  #request(callback: Callback, isShared = false): void {
    const { accountId, tokenPrefix, ip } = currentLogContext()
    const stranger = tokenPrefix ?? ip
    const account = isShared ? SHARED : (accountId ?? (stranger === undefined ? JOBS : UNKNOWN))
    const caller = isShared ? SHARED : (accountId ?? stranger ?? JOBS)
    const share = this.#shareOf(account)
    if (share.waiting.isEmpty) share.raiseTo(this.#levelMs, performance.now())
    if (this.#running < this.#max) this.#open(share, callback)
    else this.#wait(share, caller, callback)
  }

  #open(share: Share, callback: Callback): void {
    const startedAt = performance.now()
    this.#running++
    if (share.account !== SHARED) this.#levelMs = Math.max(this.#levelMs, share.usedMsAt(startedAt))
    share.start(startedAt)
    const idle = this.#idle.pop()
    if (idle) {
      this.#lend(idle.client, share, startedAt, callback)
      return
    }
    // The driver keeps what it calls for as long as the connection, and a request's callback holds its result.
    const opening: { callback: Callback | undefined } = { callback }
    super.connect((error, client) => {
      const { callback: waiting } = opening
      opening.callback = undefined
      if (client) {
        this.#lend(this.#adopt(client as Member), share, startedAt, waiting)
        return
      }
      // Later: after the end of the pool, the next request fails in the same call.
      queueMicrotask(() => this.#handleEnd(error, share, startedAt))
      waiting?.(error, undefined, () => {})
    })
  }

  #lend(client: Member, share: Share, startedAt: number, callback: Callback | undefined): void {
    let isReleased = false
    const release = (error?: Error | boolean) => {
      if (isReleased) refuseRelease()
      isReleased = true
      client.release = refuseRelease
      this.#takeBack(client, error)
      this.#handleEnd(error, share, startedAt)
    }
    client.release = release
    callback?.(undefined, client, release)
  }

  /** The pool of the driver only opens and closes connections: lending one takes it three timers. */
  #adopt(client: Member): Member {
    this.#closers.set(client, client.release)
    client.on('error', error => {
      const at = this.#idle.findIndex(idle => idle.client === client)
      if (at === -1) return
      this.#idle.splice(at, 1)
      this.#close(client, error)
      this.emit('error', error, client)
    })
    return client
  }

  #takeBack(client: Member, error?: Error | boolean): void {
    if (error || this.ending || !isAtRest(client)) {
      this.#close(client, error || true)
      return
    }
    this.#idle.push({ client, since: performance.now() })
    const closeIdle = () => this.#closeIdle(this.#idleMaxMs)
    this.#reaper ??= setInterval(closeIdle, this.#idleMaxMs / 2).unref()
  }

  #closeIdle(idleMs: number): void {
    const oldest = performance.now() - idleMs
    while (this.#idle[0] && this.#idle[0].since <= oldest) {
      const closed = this.#idle.shift()
      if (closed) this.#close(closed.client)
    }
    if (this.#idle.length > 0) return
    clearInterval(this.#reaper)
    this.#reaper = undefined
  }

  #close(client: Member, error: Error | boolean = true): void {
    this.#closers.get(client)?.(error)
  }

  override end(): Promise<void>
  override end(callback: () => void): void
  override end(callback?: () => void): Promise<void> | undefined {
    // Before, so that the end does not wait for a server that no longer responds.
    this.#closeIdle(0)
    const ended = super.end()
    if (!callback) return ended
    ended.then(callback, callback)
    return undefined
  }

  #wait(share: Share, caller: string, callback: Callback): void {
    const began = performance.now()
    const giveUpOrWait = () => {
      const now = performance.now()
      const leftMs = Math.min(
        Math.max(began, this.#lastProgressAt) + this.#stallMs - now,
        began + WAIT_MAX_MS - now,
      )
      if (leftMs > 0) {
        timer = setTimeout(giveUpOrWait, leftMs)
        return
      }
      share.waiting.delete(caller, open)
      share.forgetIdle()
      callback(connectionTimeout(), undefined, () => {})
    }
    const open = () => {
      clearTimeout(timer)
      this.#open(share, callback)
    }
    let timer = setTimeout(giveUpOrWait, this.#stallMs)
    share.waiting.add(caller, open)
  }

  #handleEnd(error: unknown, share: Share, startedAt: number): void {
    this.#running--
    share.end(startedAt)
    if (!(error && isDatabaseUnavailable(error))) this.#lastProgressAt = performance.now()
    this.#admit()
  }

  #admit(): void {
    if (this.#running >= this.#max) return
    const now = performance.now()
    let next: Share | undefined
    for (const share of this.#shares.values()) {
      if (share.waiting.isEmpty) continue
      if (share.account === SHARED && share.running < this.#max / 2) {
        next = share
        break
      }
      if (!next || share.usedMsAt(now) < next.usedMsAt(now)) next = share
    }
    next?.waiting.take()?.()
  }

  /** Idle shares stay: a Map with a deletion for each addition makes V8 keep what its former tables held. */
  #shareOf(account: string): Share {
    const known = this.#shares.get(account)
    if (known) return known
    if (this.#shares.size >= SHARES_MAX)
      for (const [name, share] of this.#shares) if (share.isIdle) this.#shares.delete(name)
    const share = new Share(account)
    this.#shares.set(account, share)
    return share
  }
}
