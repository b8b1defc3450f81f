import { setTimeout as sleep } from 'node:timers/promises'
import { isObject } from '#lib/core/fields.ts'
import { isUuid, newId } from '#lib/core/ids.ts'
import { log } from '#lib/core/log.ts'
import { processWide } from '#lib/core/process-wide.ts'
import { MASKED } from '#lib/dashboard/requests.ts'
import { db, Prisma } from '#lib/db/client.ts'
import type { Caller } from '#lib/http/caller.ts'
import type { Declaration, Effect } from '#lib/http/declaration.ts'
import type { HttpRequest, HttpResponse } from '#lib/http/exchange.ts'

/** Maximum bytes of a stored body. The database refuses more (request_log_bodies_short). */
export const LOGGED_BODY_MAX = 4096

type Rule = (value: unknown) => boolean

const isNumber: Rule = value => typeof value === 'number'
const isTextLike =
  (pattern: RegExp): Rule =>
  value =>
    typeof value === 'string' && pattern.test(value)
const isUuidText = isTextLike(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
const isTime = isTextLike(/^\d{4}-\d\d-\d\dT[\d:.]{8,15}Z$/)
const isWord = isTextLike(/^[a-z_]{1,40}(\.[a-z_]{1,40})?$/)
const isPaymentId = isTextLike(/^[ED]\d{20}[0-9A-Za-z]{11}$/)

/** Fields whose value is stored, and the form it must have. Every other value is masked. */
const STORED: Record<string, Rule> = {
  ...rulesOf(isUuidText, ['id', 'transaction_id', 'next_cursor']),
  ...rulesOf(isNumber, ['amount', 'refunded_amount', 'returned_amount', 'balance', 'expires_in']),
  ...rulesOf(isNumber, ['sequence', 'next_after', 'last_sequence']),
  ...rulesOf(isWord, ['status', 'mode', 'type', 'event', 'outcome', 'pix_key_type']),
  ...rulesOf(isTime, ['created_at', 'updated_at', 'expires_at', 'paid_at', 'cancelled_at']),
  ...rulesOf(isTime, ['approved_at', 'rejected_at', 'completed_at']),
  ...rulesOf(isPaymentId, ['end_to_end_id', 'return_id']),
}
/** Fields whose inner fields are checked one by one. Any other object or list is masked as a whole. */
const OPENED = ['data', 'transaction', 'withdrawal', 'refund']
/** Fields of a response, beside its data, with sentences of this program. They may repeat a part of the request. */
const SENTENCES = ['error', 'errors', 'message']
/** Ids that this program made, which are of version 7, unlike Pix keys; and times. */
const KEPT = String.raw`\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b\d{4}-\d\d-\d\d(?:T[\d:.]{8,15}Z)?(?![\d-])`
/** 8 digits or more, with whatever separates them: phone numbers, documents, keys. */
const DIGITS = String.raw`\d(?:[ .()/-]*\d){7,}`
const KEPT_OR_DIGITS = new RegExp(`(${KEPT})|${DIGITS}`, 'g')
/** Without `@` in it: a pattern of an e-mail takes quadratic time on a text that has none. */
const WORD = /[^\s"']+/g
/** Longest sentence of this program that is searched for personal data; a longer one is masked as a whole. */
const SENTENCE_MAX = 500
/** Keys of the API; others are chosen by the caller. */
const KEY_FORM = /^[a-z_]{1,40}$/

function rulesOf(rule: Rule, names: string[]): Record<string, Rule> {
  return Object.fromEntries(names.map(name => [name, rule]))
}

/** Returns the body of a request without personal data; null if its JSON is longer than the log stores. */
export function maskRequest(body: unknown): unknown {
  return limit(maskFields(body))
}

/** As `maskRequest`, with the sentences of this program. */
export function maskResponse(body: unknown): unknown {
  return limit(maskFields(body, SENTENCES))
}

function limit(masked: unknown): unknown {
  return Buffer.byteLength(JSON.stringify(masked)) > LOGGED_BODY_MAX ? null : masked
}

function maskFields(value: unknown, sentences: string[] = []): unknown {
  if (value === null) return null
  if (Array.isArray(value)) return value.map(inner => maskFields(inner))
  if (!isObject(value)) return MASKED
  const entries = Object.entries(value).map(([key, inner]) => {
    if (!KEY_FORM.test(key)) return [MASKED, MASKED]
    return [key, sentences.includes(key) ? maskSentences(inner) : maskValue(key, inner)]
  })
  return Object.fromEntries(entries)
}

function maskValue(key: string, value: unknown): unknown {
  if (value === null || typeof value === 'boolean') return value
  if (Object.hasOwn(STORED, key) && STORED[key]?.(value)) return value
  return OPENED.includes(key) ? maskFields(value) : MASKED
}

function maskSentences(value: unknown): unknown {
  if (typeof value === 'string') return maskSentence(value)
  if (Array.isArray(value)) return value.map(maskSentences)
  if (!isObject(value)) return MASKED
  const entries = Object.entries(value).map(([key, inner]) => [
    KEY_FORM.test(key) ? key : MASKED,
    KEY_FORM.test(key) ? maskSentences(inner) : MASKED,
  ])
  return Object.fromEntries(entries)
}

/** Masks e-mails and long numbers. */
function maskSentence(text: string): string {
  if (text.length > SENTENCE_MAX) return MASKED
  const withoutMails = text.replace(WORD, word => (word.includes('@') ? MASKED : word))
  return withoutMails.replace(KEPT_OR_DIGITS, (_, kept) => kept ?? MASKED)
}

/** A crash loses the requests of at most this long; a stop stores them. */
const STORE_INTERVAL_MS = 500
/** Requests per interval. More are dropped and counted, so that the log never slows requests. */
const BUFFER_MAX = 200
/** Requests of one account per interval, so that a busy account leaves room for others. */
const ACCOUNT_MAX = 50
/** Requests that are stored per account (docs/decisions/059). */
export const STORED_MAX = 10_000
/** Stored requests after which an account's old ones are deleted: one deletion of many rows is cheap. */
const PRUNE_EVERY = 500
/** Longer bodies are lists; masked, most would still be longer than LOGGED_BODY_MAX. */
const BODY_MAX = 4 * LOGGED_BODY_MAX
/** A batch that the database does not take, as while it is busy, is tried again this often. */
const ATTEMPTS_MAX = 3
/** Operations whose bodies are never stored, because they contain secrets. */
const UNLOGGED_EFFECTS: (Effect | undefined)[] = [
  'document',
  'new_token',
  'token_value',
  'invitation',
]

interface Exchange {
  incoming: HttpRequest
  response: HttpResponse
  caller: Caller | null
  declared: Declaration<unknown, unknown> | null
  body: LoggedBody | undefined
  tookMs: number
}
export interface LoggedBody {
  bytes: number
  /** Null: too long to be stored. */
  content: Record<string, unknown> | null
}
/** The columns of its row, except the bodies, which are still unmasked; null: not stored. */
interface Entry {
  row: Record<string, unknown> & { account_id: string }
  content: Record<string, unknown> | null
  text: string | null
}

const state = processWide('request log', () => ({
  entries: [] as Entry[],
  perAccount: new Map<string, number>(),
  unpruned: new Map<string, number>(),
  dropped: 0,
  storing: Promise.resolve(),
}))

export function toLoggedBody(incoming: HttpRequest, content: Record<string, unknown>): LoggedBody {
  const sent = incoming.header('content-length')
  const bytes = sent === null ? Buffer.byteLength(JSON.stringify(content)) : Number(sent)
  return { bytes, content: bytes <= BODY_MAX ? content : null }
}

/** Notes a request with a token in memory. Its bodies are masked later, when it is stored. */
export function noteRequest(exchange: Exchange): void {
  const { caller, declared } = exchange
  if (caller?.kind !== 'token' || declared?.isUnlogged) return
  const accountId = caller.account.id
  const noted = state.perAccount.get(accountId) ?? 0
  if (noted >= ACCOUNT_MAX || state.entries.length >= BUFFER_MAX) return void state.dropped++
  state.perAccount.set(accountId, noted + 1)
  state.entries.push(toEntry(exchange, caller))
}

/** Without the request itself, which holds the bytes of its body. */
function toEntry(exchange: Exchange, caller: Caller): Entry {
  const { incoming, response, declared, body, tookMs } = exchange
  const { text, status, headers } = response
  const isStored =
    declared !== null &&
    !UNLOGGED_EFFECTS.includes(declared.effect) &&
    !declared.idempotency?.showsSecret
  const responseBytes = Buffer.byteLength(text)
  return {
    row: {
      account_id: caller.account.id,
      id: newId(),
      mode: caller.mode,
      token_id: caller.tokenId,
      method: incoming.method,
      path: incoming.route,
      resource_id: Object.values(incoming.params).findLast(isUuid) ?? null,
      status,
      code: headers['x-error-code'] ?? null,
      duration_us: Math.round(tookMs * 1000),
      request_id: incoming.requestId ?? '',
      request_bytes: body?.bytes ?? null,
      response_bytes: responseBytes,
      created_at: new Date(),
    },
    content: (isStored && body?.content) || null,
    text: isStored && responseBytes <= BODY_MAX ? text : null,
  }
}

/** Stores the noted requests in one statement, one batch at a time. A batch that keeps failing is dropped. */
export function storeRequests(): Promise<void> {
  state.storing = state.storing.then(storeBatch).catch(error => {
    log().warn({ err: error }, 'storing requests failed')
  })
  return state.storing
}

async function storeBatch(): Promise<void> {
  const { entries, dropped } = state
  Object.assign(state, { entries: [], perAccount: new Map(), dropped: 0 })
  if (dropped > 0) log().info({ dropped }, 'requests not logged: too many at once')
  if (entries.length === 0) return
  const rows = Prisma.sql`
    INSERT INTO request_log (account_id, id, mode, token_id, method, path, resource_id, status, code,
      duration_us, request_id, request_body, request_bytes, response_body, response_bytes, created_at)
    SELECT * FROM json_to_recordset(${JSON.stringify(entries.map(toRow))}::json) AS r (
      account_id uuid, id uuid, mode text, token_id uuid, method text, path text, resource_id uuid,
      status int, code text, duration_us int, request_id text, request_body json, request_bytes int,
      response_body json, response_bytes int, created_at timestamptz)`
  await insert(rows)
  await pruneAccounts(entries)
}

/** Rows that an attempt stored although it failed are not stored twice: their keys exist. */
async function insert(rows: Prisma.Sql, attempt = 1): Promise<void> {
  try {
    await db().$executeRaw`${rows} ON CONFLICT DO NOTHING`
  } catch (error) {
    if (attempt === ATTEMPTS_MAX) throw error
    // The first request may come before the worker has made its partition, in the function of
    // prisma/functions/troco_rotate_request_log.sql.
    if (String((error as Error).message).includes('no partition of relation'))
      await db().$executeRaw`SELECT troco_rotate_request_log()`.catch(() => {})
    if (attempt > 1) await sleep(STORE_INTERVAL_MS)
    await insert(rows, attempt + 1)
  }
}

const toRow = ({ row, content, text }: Entry) => ({
  ...row,
  request_body: content && maskRequest(content),
  response_body: text === null ? null : maskResponse(parseJson(text)),
})

/** Files and QR codes are no JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Deletes what an account has beyond STORED_MAX, after every PRUNE_EVERY stored requests. */
async function pruneAccounts(entries: Entry[]): Promise<void> {
  for (const { row } of entries) {
    const id = row.account_id
    const unpruned = (state.unpruned.get(id) ?? 0) + 1
    state.unpruned.set(id, unpruned)
    if (unpruned < PRUNE_EVERY) continue
    state.unpruned.delete(id)
    await pruneRequests(id)
  }
}

export function pruneRequests(accountId: string): Promise<number> {
  return db().$executeRaw`
    DELETE FROM request_log WHERE account_id = ${accountId}::uuid AND id <= (
      SELECT id FROM request_log WHERE account_id = ${accountId}::uuid
      ORDER BY id DESC OFFSET ${STORED_MAX} LIMIT 1)`
}

/** Stores the requests of this process regularly. Returns a function that stores the last ones. */
export function startStoringRequests(): () => Promise<void> {
  const timer = setInterval(storeRequests, STORE_INTERVAL_MS)
  timer.unref()
  return () => {
    clearInterval(timer)
    return storeRequests()
  }
}
