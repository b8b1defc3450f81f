import { setTimeout as sleep } from 'node:timers/promises'
import { isUuid, newId } from '#lib/core/ids.ts'
import { log } from '#lib/core/log.ts'
import { processWide } from '#lib/core/process-wide.ts'
import { db, Prisma } from '#lib/db/client.ts'
import type { Caller } from '#lib/http/caller.ts'
import type { Declaration, Effect } from '#lib/http/declaration.ts'
import type { HttpRequest, HttpResponse } from '#lib/http/exchange.ts'
import { LOGGED_BODY_MAX, maskRequest, maskResponse } from '#lib/http/mask-body.ts'

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
      ...{
        account_id: caller.account.id,
        id: newId(),
        mode: caller.mode,
        token_id: caller.tokenId,
      },
      ...{ method: incoming.method, path: incoming.route },
      resource_id: Object.values(incoming.params).findLast(isUuid) ?? null,
      ...{ status, code: headers['x-error-code'] ?? null, duration_us: Math.round(tookMs * 1000) },
      request_id: incoming.requestId ?? '',
      ...{ request_bytes: body?.bytes ?? null, response_bytes: responseBytes },
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
