/**
 * Client for Troco's API, in one file without dependencies: Node.js 20 or newer, Bun, Deno, Workers.
 *
 *   const troco = new Troco({ url: 'https://pay.example', token: () => process.env.TROCO_TOKEN ?? '' })
 *   const charge = await troco.charges.create({ amount: 4990, … }, { key: 'order-1048' })
 *   const paid = await troco.charges.waitUntilPaid(charge.transaction_id)
 *
 * Each operation that creates something takes an idempotency key from your own record, such as the order number:
 * whatever happens in between, the same key takes effect once. Amounts are integers in cents.
 */
import type {
  Account,
  BalanceHistory,
  Charge,
  ChargeCreated,
  ChargeRequest,
  CreateTokenBody,
  Dispute,
  DisputeEvidence,
  DownloadStatementQuery,
  ErrorCode,
  IssuedToken,
  KnownEvent,
  ListAllRefundsQuery,
  ListBalanceHistoryQuery,
  ListChargesQuery,
  ListDeliveriesQuery,
  ListDisputesQuery,
  ListRefundsQuery,
  ListRequestsQuery,
  ListStatementEntriesQuery,
  ListWithdrawalsQuery,
  LoggedRequest,
  LoggedRequestRead,
  OtherEvent,
  Refund,
  RefundCreated,
  SandboxState,
  StatementEntry,
  TestEventRequest,
  TestEventSent,
  Token,
  UpdateTokenBody,
  WebhookDeliveriesResend,
  WebhookDeliveriesResent,
  WebhookDelivery,
  WebhookDeliveryRead,
  WebhookDeliveryResent,
  WebhookEndpoint,
  WebhookEndpointChange,
  WebhookEndpointCreated,
  WebhookEndpointEnable,
  WebhookEndpointEnabled,
  WebhookEndpointRequest,
  WebhookSecret,
  Withdrawal,
  WithdrawalCreated,
  WithdrawalRequest,
} from './api.ts'

export interface Options {
  /** Address of the server, such as `https://pay.example`. */
  url: string
  /** API token. A function is called for each request, so that a rotated token takes effect at once. */
  token: string | (() => string | Promise<string>)
  /** Time limit of one attempt. */
  timeoutMs?: number
  /** Attempts of one call, the first included. */
  attempts?: number
  /** Replaces the global `fetch`, for proxies and tests. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>
}

export interface CallOptions {
  /** Ends the call, its pauses included. */
  signal?: AbortSignal | undefined
}

/** Options of a call that takes effect once, however often it is repeated with the same key. */
export interface KeyOptions extends CallOptions {
  /** Idempotency key: 1 to 255 characters, from your own record, stored before the first attempt. */
  key: string
}

/** Options of a call that can be repeated by itself; its key only needs to outlive the attempts. */
export interface OptionalKeyOptions extends CallOptions {
  key?: string
}

export interface ListPage<Entry> {
  data: Entry[]
  next_cursor: string | null
}

/** An event of a type that this client does not know. A later server may send one: accept and ignore it. */
export interface UnknownEvent {
  type: 'unknown'
  event: OtherEvent
}

export type TrocoEvent = KnownEvent | UnknownEvent

/** Where a reader of the event feed stands: store both, and give them back as they are. */
export interface FeedPosition {
  after: number
  epoch: string | null
}

/** Why the feed goes on elsewhere: compare your records with the charges, because events may be missing. */
export interface FeedGap {
  reason: 'events_deleted' | 'backup_restored' | 'other_feed'
  /** After a restore, the last event that is left of those before it. */
  lastKept: number | null
}

export interface FollowOptions extends CallOptions {
  /** Reads the stored position; null at the very first time. */
  load: () => FeedPosition | null | Promise<FeedPosition | null>
  /**
   * Stores what the events change and the position in one transaction of yours: then each event takes effect once, even
   * if the process dies. With a gap, `events` is empty. If it throws, `follow` ends with that error.
   */
  save: (events: TrocoEvent[], position: FeedPosition, gap: FeedGap | null) => unknown
  /** Pause at the end of the feed. */
  pauseMs?: number
}

/** What a server refused, or why it was not reached. The message is for people, `code` for programs. */
export class TrocoError extends Error {
  override name = 'TrocoError'
  /** `no_response`, `invalid_response`, `invalid_argument` and `invalid_signature` come from this client. */
  readonly code: ErrorCode | LocalCode | (string & {})
  /** HTTP status; 0 without a response. */
  readonly status: number
  /** Messages by field. */
  readonly fields: Record<string, string[]>
  /** Names the request in the server's log, and in `troco explain`. */
  readonly requestId: string | null
  /** Address of the code's entry in the documentation. */
  readonly docs: string | null
  /** Whether the same request, with the same key, may succeed later. */
  readonly isRetryable: boolean
  /** Headers of the response. */
  readonly headers: Headers

  constructor(
    message: string,
    details: Partial<TrocoError> & Pick<TrocoError, 'code'> & { cause?: unknown },
  ) {
    super(message)
    // Projects that compile for ES2021 know no second argument of Error.
    Object.defineProperty(this, 'cause', { value: details.cause })
    this.code = details.code
    this.status = details.status ?? 0
    this.fields = details.fields ?? {}
    this.requestId = details.requestId ?? null
    this.docs = details.docs ?? null
    this.isRetryable = details.isRetryable ?? false
    this.headers = details.headers ?? new Headers()
  }
}

type LocalCode = 'no_response' | 'invalid_response' | 'invalid_argument' | 'invalid_signature'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The list of all entries, page by page: `for await (const charge of troco.charges.list())`. */
export class List<Entry> implements AsyncIterable<Entry> {
  readonly #read: (cursor: string | null) => Promise<ListPage<Entry>>

  constructor(read: (cursor: string | null) => Promise<ListPage<Entry>>) {
    this.#read = read
  }

  /** Reads one page: the first, or the one after a `next_cursor`. */
  page(cursor: string | null = null): Promise<ListPage<Entry>> {
    return this.#read(cursor)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Entry> {
    let cursor: string | null = null
    do {
      const page: ListPage<Entry> = await this.#read(cursor)
      yield* page.data
      cursor = page.next_cursor
    } while (cursor !== null)
  }
}

const ATTEMPTS = 6
const TIMEOUT_MS = 30_000
/** Without `Retry-After`, the pause doubles from 0.5 s to this. */
const PAUSE_MAX_MS = 16_000
/** After a longer `Retry-After`, the server is asked again sooner: it may be up again. */
const RETRY_AFTER_MAX_S = 60
const PAID_POLL_MS = 2_000
const FEED_PAUSE_MS = 5_000
const FEED_LIMIT = 100
const SIGNATURE_TOLERANCE_S = 300
/** Nobody knows yet who sends it; events have about 1 MiB at most. */
const BODY_BYTES_MAX = 4 << 20

export class Troco {
  readonly #base: string
  readonly #options: Options

  constructor(options: Options) {
    if (!/^https?:\/\//.test(options.url)) refuse('url', 'must begin with https:// or http://')
    this.#base = `${options.url.replace(/\/+$/, '').replace(/\/api$/, '')}/api`
    this.#options = options
  }

  readonly account = (options?: CallOptions): Promise<Account> =>
    this.request('GET', '/account', options)

  readonly charges = {
    create: async (body: ChargeRequest, options: KeyOptions): Promise<ChargeCreated['data']> => {
      requireCents('amount', body.amount)
      return data(this.#create('/transactions', body, options))
    },
    /** By its id or your reference. */
    get: (id: string, options?: CallOptions): Promise<Charge> =>
      data(this.request('GET', `/transactions/${segment(id)}`, options)),
    list: (query: ListChargesQuery = {}, options?: CallOptions): List<Charge> =>
      this.#list('/transactions', query, options),
    cancel: (id: string, options?: OptionalKeyOptions): Promise<Charge> =>
      data(this.#act(`/transactions/${segment(id)}/cancel`, {}, options)),
    describe: (id: string, description: string | null, options?: CallOptions): Promise<Charge> =>
      data(
        this.request('PUT', `/transactions/${segment(id)}/description`, {
          ...options,
          body: { description },
        }),
      ),
    /**
     * Returns the charge once it is paid. Throws if it expires or fails first, with its status as `code`:
     * `charge_expired` or `charge_failed`. End the wait with `signal`, such as `AbortSignal.timeout(60_000)`.
     */
    waitUntilPaid: async (id: string, options?: CallOptions): Promise<Charge> => {
      for (;;) {
        const charge = await this.charges.get(id, options)
        if (charge.status === 'paid') return charge
        if (charge.status !== 'pending')
          throw new TrocoError(`The charge ${id} is ${charge.status}`, {
            code: `charge_${charge.status}`,
          })
        await pause(PAID_POLL_MS, options?.signal)
      }
    },
    receipt: (id: string, options?: CallOptions): Promise<ArrayBuffer> =>
      this.#download(`/transactions/${segment(id)}/receipt.pdf`, options),
  }

  readonly refunds = {
    /** Refunds a part. For all that is left there is `createFull`: an amount that is missing by mistake refunds nothing. */
    create: async (
      chargeId: string,
      body: { amount: number; reason?: string },
      options: KeyOptions,
    ): Promise<RefundCreated['data']> => {
      requireCents('amount', body.amount)
      return data(this.#create(`/transactions/${segment(chargeId)}/refunds`, body, options))
    },
    /** Refunds all that can still be refunded. */
    createFull: (
      chargeId: string,
      body: { reason?: string },
      options: KeyOptions,
    ): Promise<RefundCreated['data']> => {
      const full = { ...body, amount: 'all' }
      return data(this.#create(`/transactions/${segment(chargeId)}/refunds`, full, options))
    },
    get: (chargeId: string, id: string, options?: CallOptions): Promise<Refund> => {
      const path = `/transactions/${segment(chargeId)}/refunds/${segment(id)}`
      return data(this.request('GET', path, options))
    },
    list: (query: ListAllRefundsQuery = {}, options?: CallOptions): List<Refund> =>
      this.#list('/refunds', query, options),
    ofCharge: (
      chargeId: string,
      query: ListRefundsQuery = {},
      options?: CallOptions,
    ): List<Refund> => this.#list(`/transactions/${segment(chargeId)}/refunds`, query, options),
  }

  readonly withdrawals = {
    create: async (
      body: WithdrawalRequest,
      options: KeyOptions,
    ): Promise<WithdrawalCreated['data']> => {
      requireCents('amount', body.amount)
      return data(this.#create('/withdrawals', body, options))
    },
    get: (id: string, options?: CallOptions): Promise<Withdrawal> =>
      data(this.request('GET', `/withdrawals/${segment(id)}`, options)),
    list: (query: ListWithdrawalsQuery = {}, options?: CallOptions): List<Withdrawal> =>
      this.#list('/withdrawals', query, options),
    receipt: (id: string, options?: CallOptions): Promise<ArrayBuffer> =>
      this.#download(`/withdrawals/${segment(id)}/receipt.pdf`, options),
  }

  readonly disputes = {
    get: (id: string, options?: CallOptions): Promise<Dispute> =>
      data(this.request('GET', `/disputes/${segment(id)}`, options)),
    list: (query: ListDisputesQuery = {}, options?: CallOptions): List<Dispute> =>
      this.#list('/disputes', query, options),
    /** Sends a text, a PDF, PNG or JPEG of at most 5 MB, or both, for the defense. */
    addEvidence: (
      id: string,
      evidence: { text?: string; file?: Uint8Array; fileName?: string },
      options?: OptionalKeyOptions,
    ): Promise<DisputeEvidence> => {
      const { text, file, fileName: file_name } = evidence
      const body = { text, file: file && toBase64(file), file_name }
      return data(this.#act(`/disputes/${segment(id)}/evidence`, body, options))
    },
    evidence: (id: string, options?: CallOptions): Promise<DisputeEvidence[]> =>
      data(this.request('GET', `/disputes/${segment(id)}/evidence`, options)),
    evidenceFile: (id: string, evidenceId: string, options?: CallOptions): Promise<ArrayBuffer> =>
      this.#download(`/disputes/${segment(id)}/evidence/${segment(evidenceId)}`, options),
  }

  readonly statement = {
    list: (query: ListStatementEntriesQuery = {}, options?: CallOptions): List<StatementEntry> =>
      this.#list('/statement', query, options),
    csv: async (query: DownloadStatementQuery = {}, options?: CallOptions): Promise<string> =>
      new TextDecoder().decode(await this.#download(`/statement.csv${search(query)}`, options)),
    balances: (
      query: ListBalanceHistoryQuery = {},
      options?: CallOptions,
    ): Promise<BalanceHistory> => this.request('GET', `/balance/history${search(query)}`, options),
  }

  readonly events = {
    /** Reads one page of the feed, oldest first. */
    page: async (position: FeedPosition, options?: CallOptions) => {
      const query = search({ after: position.after, epoch: position.epoch, limit: FEED_LIMIT })
      const { body, headers } = await this.#send<{ data: AnyEvent[]; next_after: number }>(
        'GET',
        `/events${query}`,
        options,
      )
      const epoch = headers.get('Troco-Feed-Epoch')
      return { events: body.data.map(classify), position: { after: body.next_after, epoch } }
    },
    /**
     * Hands over every event once and in order, until `signal` ends it. It goes on after deleted events, a restored
     * backup and a token of the other mode, and says so.
     */
    follow: async (options: FollowOptions): Promise<void> => {
      const { load, save, signal, pauseMs = FEED_PAUSE_MS } = options
      let position = (await load()) ?? { after: 0, epoch: null }
      while (!signal?.aborted) {
        const page = await this.events.page(position, { signal }).catch(toError)
        if (!(page instanceof Error)) {
          const isNew = page.events.length > 0 || page.position.epoch !== position.epoch
          if (isNew) await save(page.events, page.position, null)
          position = page.position
          if (page.events.length > 0) continue
        } else if (!signal?.aborted) {
          const moved = findContinuation(page, position)
          if (moved) {
            await save([], moved.position, moved.gap)
            position = moved.position
            continue
          }
          if (!(page instanceof TrocoError && page.isRetryable)) throw page
        }
        await pause(pauseMs, signal).catch(() => {})
      }
    },
  }

  readonly webhooks = {
    endpoints: {
      create: (
        body: WebhookEndpointRequest,
        options: KeyOptions,
      ): Promise<WebhookEndpointCreated['data']> =>
        data(this.#create('/webhooks/endpoints', body, options)),
      get: (id: string, options?: CallOptions): Promise<WebhookEndpoint> =>
        data(this.request('GET', `/webhooks/endpoints/${segment(id)}`, options)),
      list: (options?: CallOptions): Promise<WebhookEndpoint[]> =>
        data(this.request('GET', '/webhooks/endpoints', options)),
      update: (
        id: string,
        body: WebhookEndpointChange,
        options?: CallOptions,
      ): Promise<WebhookEndpoint> =>
        data(this.request('PATCH', `/webhooks/endpoints/${segment(id)}`, { ...options, body })),
      delete: (id: string, options?: CallOptions): Promise<unknown> =>
        this.request('DELETE', `/webhooks/endpoints/${segment(id)}`, options),
      disable: (id: string, options?: OptionalKeyOptions): Promise<WebhookEndpoint> =>
        data(this.#act(`/webhooks/endpoints/${segment(id)}/disable`, {}, options)),
      enable: (
        id: string,
        body: WebhookEndpointEnable = {},
        options?: OptionalKeyOptions,
      ): Promise<WebhookEndpointEnabled> =>
        this.#act(`/webhooks/endpoints/${segment(id)}/enable`, body, options),
      /** Shows a new secret. The previous one signs for 24 more hours. */
      rotate: (id: string, options: KeyOptions): Promise<WebhookSecret['data']> =>
        data(this.#create(`/webhooks/endpoints/${segment(id)}/rotate`, {}, options)),
      test: (
        id: string,
        body: TestEventRequest = {},
        options?: OptionalKeyOptions,
      ): Promise<TestEventSent> =>
        this.#act(`/webhooks/endpoints/${segment(id)}/test`, body, options),
    },
    deliveries: {
      get: (id: string, options?: CallOptions): Promise<WebhookDeliveryRead['data']> =>
        data(this.request('GET', `/webhooks/deliveries/${segment(id)}`, options)),
      list: (query: ListDeliveriesQuery = {}, options?: CallOptions): List<WebhookDelivery> =>
        this.#list('/webhooks/deliveries', query, options),
      resend: (id: string, options?: OptionalKeyOptions): Promise<WebhookDeliveryResent> =>
        this.#act(`/webhooks/deliveries/${segment(id)}/resend`, {}, options),
      resendFailed: (
        body: WebhookDeliveriesResend,
        options?: OptionalKeyOptions,
      ): Promise<WebhookDeliveriesResent> =>
        this.#act('/webhooks/deliveries/resend', body, options),
    },
    verify: verifyWebhook,
  }

  readonly tokens = {
    create: (body: CreateTokenBody, options: KeyOptions): Promise<IssuedToken> =>
      data(this.#create('/tokens', body, options)),
    list: (options?: CallOptions): Promise<Token[]> =>
      data(this.request('GET', '/tokens', options)),
    update: (id: string, body: UpdateTokenBody, options?: CallOptions): Promise<Token> =>
      data(this.request('PATCH', `/tokens/${segment(id)}`, { ...options, body })),
    revoke: (
      id: string,
      body: { reason?: string } = {},
      options?: OptionalKeyOptions,
    ): Promise<Token> => data(this.#act(`/tokens/${segment(id)}/revoke`, body, options)),
    rotate: (
      id: string,
      body: { overlap_hours: 0 | 1 | 24 | 168 },
      options: KeyOptions,
    ): Promise<IssuedToken> => data(this.#create(`/tokens/${segment(id)}/rotate`, body, options)),
  }

  readonly requests = {
    get: (id: string, options?: CallOptions): Promise<LoggedRequestRead['data']> =>
      data(this.request('GET', `/requests/${segment(id)}`, options)),
    list: (query: ListRequestsQuery = {}, options?: CallOptions): List<LoggedRequest> =>
      this.#list('/requests', query, options),
  }

  /** The simulated bank, for tokens of the test mode. */
  readonly sandbox = {
    charge: (id: string, outcome: 'paid' | 'failed' | 'expired'): Promise<Charge> =>
      data(this.#act(`/sandbox/transactions/${segment(id)}`, { outcome })),
    refund: (id: string, outcome: 'completed' | 'rejected', reason?: string): Promise<Refund> =>
      data(this.#act(`/sandbox/refunds/${segment(id)}`, { outcome, reason })),
    withdrawal: (
      id: string,
      outcome: 'approved' | 'rejected' | 'returned',
      more: { reason?: string; amount?: number } = {},
    ): Promise<Withdrawal> =>
      data(this.#act(`/sandbox/withdrawals/${segment(id)}`, { outcome, ...more })),
    dispute: (chargeId: string, amount?: number): Promise<Dispute> =>
      data(this.#act(`/sandbox/transactions/${segment(chargeId)}/disputes`, { amount })),
    closeDispute: (id: string, outcome: 'won' | 'lost', amount?: number): Promise<Dispute> =>
      data(this.#act(`/sandbox/disputes/${segment(id)}`, { outcome, amount })),
    /** Lets time pass, such as `90s`, `25h` or `91d`: what is due happens. */
    advance: (duration: string): Promise<SandboxState> =>
      data(this.#act('/sandbox/clock', { advance: duration })),
    failWebhooks: (
      fault: 'unavailable' | 'timeout' | 'duplicate',
      count = 1,
    ): Promise<SandboxState> => data(this.#act('/sandbox/webhooks', { fault, count })),
    /** Ends what the two above do. */
    end: (): Promise<SandboxState> => data(this.request('DELETE', '/sandbox/controls')),
  }

  /** Calls an operation that this client has no method for. */
  async request<Answer = unknown>(
    method: Method,
    path: string,
    options: Call = {},
  ): Promise<Answer> {
    return (await this.#send<Answer>(method, path, options)).body
  }

  #create<Answer>(path: string, body: object, options: KeyOptions): Promise<Answer> {
    requireKey(options?.key)
    return this.request('POST', path, { ...options, body })
  }

  #act<Answer>(path: string, body: object, options?: OptionalKeyOptions): Promise<Answer> {
    const key = options?.key ?? crypto.randomUUID()
    return this.request('POST', path, { ...options, key, body })
  }

  #list<Entry>(path: string, query: object, options?: CallOptions): List<Entry> {
    return new List(cursor => {
      const given = cursor === null ? query : { ...query, cursor }
      return this.request('GET', `${path}${search(given)}`, options)
    })
  }

  async #download(path: string, options?: CallOptions): Promise<ArrayBuffer> {
    const { response } = await this.#repeat('GET', path, options, one => one.arrayBuffer())
    return response
  }

  async #send<Answer>(
    method: Method,
    path: string,
    options?: Call,
  ): Promise<{ body: Answer; headers: Headers }> {
    const { response, headers } = await this.#repeat(method, path, options, readJson)
    return { body: response as Answer, headers }
  }

  /** Repeats what may be repeated: nothing was changed, or the key makes it safe. */
  async #repeat<Answer>(
    method: Method,
    path: string,
    options: Call = {},
    read: (response: Response) => Promise<Answer>,
  ): Promise<{ response: Answer; headers: Headers }> {
    const { attempts = ATTEMPTS } = this.#options
    const isSafe = method !== 'POST' || options.key !== undefined
    for (let attempt = 1; ; attempt++) {
      const error = await this.#attempt(method, path, options, read).catch(toError)
      if (!(error instanceof Error)) return error
      options.signal?.throwIfAborted()
      const isRetryable = error instanceof TrocoError && error.isRetryable
      if (!isRetryable || !isSafe || attempt >= attempts) throw error
      await pause(pauseAfter(error, attempt), options.signal)
    }
  }

  async #attempt<Answer>(
    method: Method,
    path: string,
    { key, body, signal }: Call,
    read: (response: Response) => Promise<Answer>,
  ): Promise<{ response: Answer; headers: Headers }> {
    const { token, timeoutMs = TIMEOUT_MS, fetch: send = fetch } = this.#options
    const bearer = typeof token === 'function' ? await token() : token
    const limits = [AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]
    let response: Response
    try {
      response = await send(`${this.#base}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${bearer}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(key !== undefined && { 'idempotency-key': key }),
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal: AbortSignal.any(limits),
        redirect: 'error',
      })
      if (response.ok) return { response: await read(response), headers: response.headers }
    } catch (cause) {
      if (cause instanceof TrocoError) throw cause
      throw new TrocoError('The server did not respond', {
        code: 'no_response',
        isRetryable: true,
        cause,
      })
    }
    throw await readError(response)
  }
}

interface Call extends OptionalKeyOptions {
  body?: object
}

/** The type of an event as it arrives, of any type. */
type AnyEvent = KnownEvent | OtherEvent

/** What `verify` reads: a web Request, a request of node:http, or one of Express with `express.raw()`. */
type WebhookRequest =
  | { headers: Headers; text: () => Promise<string> }
  | ({ headers: Record<string, string | string[] | undefined>; body?: unknown } & Partial<
      AsyncIterable<Uint8Array | string>
    >)

/**
 * Verifies the signature of a webhook and returns its event. Throws `invalid_signature` otherwise: respond with 400. Each
 * event can arrive more than once: store the ids of those that you processed.
 */
export async function verifyWebhook(
  request: WebhookRequest,
  /** The endpoint's secret, `whsec_…`; several during a rotation. */
  secrets: string | string[],
  /** How old a webhook may be: more if a queue of yours holds it before, and a repeated one changes nothing. */
  toleranceS = SIGNATURE_TOLERANCE_S,
): Promise<TrocoEvent> {
  const header = (name: string) => {
    const { headers } = request
    const value = headers instanceof Headers ? headers.get(name) : headers[name]
    return (Array.isArray(value) ? value[0] : value) ?? ''
  }
  const id = header('webhook-id')
  const sentAt = header('webhook-timestamp')
  const body = await readBody(request)
  const age = Math.abs(Date.now() / 1000 - Number(sentAt))
  if (!/^\d+$/.test(sentAt) || age > toleranceS)
    throw new TrocoError('The time stamp is missing or differs too much from this clock', {
      code: 'invalid_signature',
    })
  const message = concatenate(new TextEncoder().encode(`${id}.${sentAt}.`), body)
  const signatures = header('webhook-signature')
    .split(' ')
    .flatMap(one => (one.startsWith('v1,') ? (decodeBase64(one.slice(3)) ?? []) : []))
  for (const secret of [secrets].flat()) {
    const key = await importKey(secret)
    for (const signature of signatures) {
      if (!(await crypto.subtle.verify('HMAC', key, signature, message))) continue
      return classify(JSON.parse(new TextDecoder().decode(body)))
    }
  }
  throw new TrocoError('The signature does not match', { code: 'invalid_signature' })
}

async function readBody(request: WebhookRequest): Promise<Uint8Array<ArrayBuffer>> {
  if ('text' in request) return new TextEncoder().encode(await request.text())
  if (typeof request.body === 'string') return new TextEncoder().encode(request.body)
  if (request.body instanceof Uint8Array) return new Uint8Array(request.body)
  // Parsed and written again, the bytes would be others than those that were signed.
  if (request.body !== undefined)
    refuse('request', 'has a parsed body: use express.raw({ type: "application/json" })')
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Uint8Array | string>) {
    const bytes = typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk
    size += bytes.length
    if (size > BODY_BYTES_MAX)
      throw new TrocoError('The body is too large', { code: 'invalid_signature' })
    chunks.push(bytes)
  }
  return concatenate(...chunks)
}

function importKey(secret: string): Promise<CryptoKey> {
  const bytes = secret.startsWith('whsec_') ? decodeBase64(secret.slice(6)) : null
  if (!bytes?.length) refuse('secret', 'must begin with whsec_ and be complete')
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), one => one.charCodeAt(0))
  } catch {
    return null
  }
}

function concatenate(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let offset = 0
  for (const part of parts) {
    whole.set(part, offset)
    offset += part.length
  }
  return whole
}

const KNOWN_TYPES: Record<KnownEvent['type'], true> = {
  'transaction.paid': true,
  'transaction.expired': true,
  'transaction.failed': true,
  'transaction.refunded': true,
  'transaction.refund_failed': true,
  'transaction.dispute_opened': true,
  'transaction.dispute_closed': true,
  'transaction.returned': true,
  'transaction.amount_mismatch': true,
  'withdrawal.approved': true,
  'withdrawal.rejected': true,
  'withdrawal.returned': true,
  'troco.ping': true,
}

function classify(event: AnyEvent): TrocoEvent {
  return Object.keys(KNOWN_TYPES).includes(event.type)
    ? (event as KnownEvent)
    : { type: 'unknown', event: event as OtherEvent }
}

/** Where the feed goes on, if it lost events or is another one. */
function findContinuation(
  error: unknown,
  before: FeedPosition,
): { position: FeedPosition; gap: FeedGap } | null {
  if (!(error instanceof TrocoError)) return null
  const next = error.headers.get('Troco-Continue-After')
  const epoch = error.headers.get('Troco-Feed-Epoch')
  if (next === null) return null
  const kept = error.headers.get('Troco-Last-Kept')
  const reason =
    kept !== null ? 'backup_restored' : epoch === before.epoch ? 'events_deleted' : 'other_feed'
  const lastKept = kept === null ? null : Number(kept)
  return { position: { after: Number(next), epoch }, gap: { reason, lastKept } }
}

async function readError(response: Response): Promise<TrocoError> {
  const { status, headers } = response
  const text = await response.text().catch(() => '')
  const code = headers.get('X-Error-Code') ?? `http_${status}`
  const { message, fields } = readProblems(text, headers.get('X-Error-Fields'))
  return new TrocoError(message || `HTTP ${status}`, {
    code,
    status,
    fields,
    headers,
    requestId: headers.get('X-Request-Id'),
    docs: /<([^>]+)>/.exec(headers.get('Link') ?? '')?.[1] ?? null,
    isRetryable: status >= 500 || [408, 429].includes(status) || code === 'in_progress',
  })
}

/** Reads the three shapes of errors: one message, the first problem, and the problems of each field. */
function readProblems(text: string, names: string | null) {
  let body: { error?: string; errors?: string | Record<string, string[]> } = {}
  try {
    body = JSON.parse(text)
  } catch {
    return { message: text.slice(0, 200), fields: {} }
  }
  const { error, errors } = body
  if (typeof errors !== 'string') {
    const fields = errors ?? {}
    const listed = Object.entries(fields).map(
      ([name, messages]) => `${name}: ${messages.join(', ')}`,
    )
    return { message: error ?? listed.join('; '), fields }
  }
  const [first, ...others] = (names ?? '').split(' ').filter(name => name !== '')
  const fields: Record<string, string[]> = Object.fromEntries(others.map(name => [name, []]))
  return { message: errors, fields: first ? { [first]: [errors], ...fields } : fields }
}

async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json()
  } catch (cause) {
    const details = { code: 'invalid_response', isRetryable: true, status: response.status, cause }
    throw new TrocoError('The response is not JSON', details)
  }
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

async function data<Data>(answer: Promise<{ data: Data }>): Promise<Data> {
  return (await answer).data
}

const BASE64_CHUNK_BYTES = 32_768

function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += BASE64_CHUNK_BYTES)
    text += String.fromCharCode(...bytes.subarray(at, at + BASE64_CHUNK_BYTES))
  return btoa(text)
}

function segment(id: string): string {
  // In an address, dots lead to another operation.
  if (typeof id !== 'string' || ['', '.', '..'].includes(id))
    refuse('id', 'must not be empty or dots')
  return encodeURIComponent(id)
}

function search(query: object): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().flatMap(one => (one === undefined || one === null ? [] : [[name, String(one)]])),
  )
  return pairs.length > 0 ? `?${new URLSearchParams(pairs)}` : ''
}

function requireCents(field: string, value: unknown): void {
  if (Number.isSafeInteger(value) && Number(value) > 0) return
  refuse(field, `must be a positive integer in cents, not ${JSON.stringify(value)}`)
}

function requireKey(key: unknown): void {
  if (typeof key === 'string' && key.length > 0 && key.length <= 255) return
  refuse('key', 'must be an idempotency key of 1 to 255 characters, such as the order number')
}

function refuse(field: string, problem: string): never {
  const fields = { [field]: [problem] }
  throw new TrocoError(`${field} ${problem}`, { code: 'invalid_argument', fields })
}

function pauseAfter(error: Error, attempt: number): number {
  const seconds = error instanceof TrocoError ? error.headers.get('Retry-After') : null
  if (seconds !== null && /^\d+$/.test(seconds))
    return Math.min(Number(seconds), RETRY_AFTER_MAX_S) * 1000
  return Math.min(2 ** attempt * 250, PAUSE_MAX_MS) * (0.75 + Math.random() / 2)
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', abort, { once: true })
    function done() {
      signal?.removeEventListener('abort', abort)
      resolve()
    }
    function abort() {
      clearTimeout(timer)
      reject(signal?.reason)
    }
  })
}

export type * from './api.ts'
