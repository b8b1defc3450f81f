import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { isTrocoError, refuse } from '#lib/core/errors.ts'
import { parseExactJson } from '#lib/core/exact-json.ts'
import { isObject } from '#lib/core/fields.ts'
import { isUuid, newRoutableId } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import {
  claimKey,
  completeKey,
  findStoredKey,
  type IdempotentRequest,
  isKeyStored,
  reclaimKey,
  releaseKey,
  type StoredKey,
} from '#lib/db/idempotency.ts'
import { presence, RETURN_MAX_MS } from '#lib/db/wake.ts'
import { type Caller, documentAccess, readTokenPrefix } from '#lib/http/caller.ts'
import type { HttpRequest, HttpResponse } from '#lib/http/exchange.ts'
import { json, jsonText, prefersRepresentation, resultResponse } from '#lib/http/response.ts'
import { type AnyPermission, isForPagesOnly } from '#lib/people/roles.ts'

export const KEY_LENGTH_MAX = 255
const PATH_MAX = 500
/** How long a repeated request waits for the first one to finish. */
const WAIT_MAX_MS = 10_000
const WAIT_STEP_MS = 50

export interface IdempotencyRule {
  retentionS: number
  /** Rebuilds the first response from the row that the operation stored with the key. */
  rebuild?: (call: Rebuilding, id: string) => Promise<unknown>
  /** Whether the response contains a secret: then a key belongs to the member or token that sent it. */
  showsSecret?: true
  /**
   * Whether the body contains a document. A replay would confirm a guessed document, so a caller who may not read
   * documents can only replay its own requests: another's key counts as one with a different body.
   */
  hasDocument?: (content: Record<string, unknown>) => boolean
}

interface Rebuilding extends Replay {
  accountId: string
  mode: Mode
}

/** Permissions and preferred form of a repeated request, which decide what its response shows. */
interface Replay {
  showsDocuments: boolean
  prefersRepresentation: boolean
}

type RuleOfRequest = IdempotencyRule & { replay: Replay }
type Handler = (once: IdempotentRequest) => Promise<unknown>
type Scope = Pick<IdempotentRequest, 'accountId' | 'mode' | 'path' | 'key'>

function readIdempotencyKey({ header }: HttpRequest): string | null {
  const key = header('idempotency-key')
  if (key === null || (key !== '' && key.length <= KEY_LENGTH_MAX)) return key
  throw refuse('idempotency_key_invalid', { lengthMax: KEY_LENGTH_MAX })
}

/** Runs `handler` once per key, then replays. Refusals, which have no effect, are not stored. */
async function runOnce(
  scope: Scope,
  content: Record<string, unknown>,
  rule: RuleOfRequest,
  handler: Handler,
): Promise<HttpResponse> {
  const requestHash = hashContent(content)
  const once = {
    ...hashLongPath(scope),
    requestHash,
    retentionS: rule.retentionS,
    id: newRoutableId(scope.accountId),
    isResumed: false,
    lockedBy: presence(),
  }
  const form = String(rule.replay.prefersRepresentation)
  const requestKey = [once.accountId, once.mode, once.path, once.key, form].join('\n')
  const concurrent = await runningRequests.get(requestKey)
  if (concurrent && Buffer.compare(concurrent.requestHash, requestHash) === 0)
    return replayResponse(concurrent.text)
  const response = runUntilResponse(once, rule, handler)
  const replay = response.then(
    ({ text }) => ({ requestHash, text }),
    () => null,
  )
  runningRequests.set(requestKey, replay)
  try {
    return await response
  } finally {
    if (runningRequests.get(requestKey) === replay) runningRequests.delete(requestKey)
  }
}

/** A request with the same key waits here for the first one, without a database connection. */
const runningRequests = new Map<string, Promise<{ requestHash: Uint8Array; text: string } | null>>()

async function runUntilResponse(
  once: IdempotentRequest,
  rule: RuleOfRequest,
  handler: Handler,
): Promise<HttpResponse> {
  for (const began = performance.now(); performance.now() - began < WAIT_MAX_MS; ) {
    const response = await tryRun(once, rule, handler)
    if (response) return response
    await sleep(WAIT_STEP_MS)
  }
  throw refuse('in_progress')
}

/** Hashes long paths: the size of an index entry is limited. Only the id in a path can be long. */
function hashLongPath(scope: Scope): Scope {
  if (scope.path.length <= PATH_MAX) return scope
  return { ...scope, path: createHash('sha256').update(scope.path).digest('hex') }
}

function replayResponse(text: string): HttpResponse {
  return jsonText(200, text, { 'idempotent-replayed': 'true' })
}

/** Runs, replays or resumes. Null: another request is running under the key or just released it. */
async function tryRun(
  once: IdempotentRequest,
  rule: RuleOfRequest,
  handler: Handler,
): Promise<HttpResponse | null> {
  try {
    return await runHandler(rule.rebuild ? once : await claimKey(once), rule, handler)
  } catch (error) {
    const isDuplicate = isKeyStored(error)
    if (!isDuplicate && !isTrocoError(error)) throw error
    // The bank is unavailable: respond 503 now. A later request may retry with this key.
    if (isTrocoError(error) && error.code === 'service_unavailable') throw error
    // Any other refusal may result from a first request that succeeded: look for its response.
    const stored = await findStoredKey(once)
    if (stored) return replayOrResume(stored, once, rule, handler)
    if (isDuplicate) return null
    throw error
  }
}

async function runHandler(
  once: IdempotentRequest,
  rule: RuleOfRequest,
  handler: Handler,
): Promise<HttpResponse> {
  if (rule.rebuild) return json(200, await handler(once))
  try {
    const text = JSON.stringify(await handler(once))
    await completeKey(once, text)
    return jsonText(200, text)
  } catch (error) {
    await releaseKey(once)
    throw error
  }
}

async function replayOrResume(
  stored: StoredKey,
  once: IdempotentRequest,
  rule: RuleOfRequest,
  handler: Handler,
): Promise<HttpResponse | null> {
  if (!stored.sameRequest) {
    throw refuse('idempotency_key_reused')
  }
  if (stored.state === 'running') return null
  if (stored.state !== 'done') {
    // Its connection to the database may only have been interrupted.
    if (stored.state === 'orphaned') await sleep(RETURN_MAX_MS)
    const reclaimed = await reclaimKey(once)
    return reclaimed && runHandler({ ...reclaimed, id: stored.id, isResumed: true }, rule, handler)
  }
  const call = { accountId: once.accountId, mode: once.mode, ...rule.replay }
  const text = stored.answer ?? JSON.stringify(await rule.rebuild?.(call, stored.id))
  return replayResponse(text)
}

/** Sorts the fields first: equal content in another order is the same request. */
function hashContent(content: Record<string, unknown>): Uint8Array<ArrayBuffer> {
  const text = JSON.stringify(content, (_key, value) =>
    isObject(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
  return new Uint8Array(createHash('sha256').update(text).digest())
}

interface KeyedRequest {
  incoming: HttpRequest
  caller: Caller
  rule: IdempotencyRule
  /** Required permission, as the endpoint declares it. */
  allow: AnyPermission | AnyPermission[]
  content: Record<string, unknown>
  /** Hides documents from the caller in first and repeated responses; undefined: the caller may read them. */
  mask: ((shown: unknown) => unknown) | undefined
}

/**
 * Runs `handle` once per Idempotency-Key, if there is one. A replay shows only what the caller may
 * read. A key of an operation that returns a secret, or of the pages, belongs to its sender.
 */
export async function runOncePerKey(
  { incoming, caller, rule, allow, content, mask }: KeyedRequest,
  handle: (once?: IdempotentRequest) => Promise<unknown>,
): Promise<HttpResponse> {
  const key = readIdempotencyKey(incoming)
  if (key === null) return resultResponse(await handle(), { mask })
  const path = resourcePath(incoming)
  const { showsDocuments } = documentAccess(caller)
  const sender = caller.user?.id ?? readTokenPrefix(incoming)
  const isOfSender =
    [allow].flat().every(isForPagesOnly) ||
    rule.showsSecret ||
    (rule.hasDocument?.(content) && !showsDocuments)
  const compared = isOfSender ? { sender, content } : content
  const scope = { accountId: caller.account.id, mode: caller.mode, path, key }
  const replay = { showsDocuments, prefersRepresentation: prefersRepresentation(incoming) }
  const response = await runOnce(scope, compared, { ...rule, replay }, handle)
  return mask
    ? { ...response, text: JSON.stringify(mask(parseExactJson(response.text))) }
    : response
}

/** Path of the operation and its resource, the same for every spelling. Next may not know the route. */
function resourcePath({ route, params, url }: HttpRequest): string {
  const template = route ? `/api${route}` : (url.split('?')[0] ?? '').replace(/(?<!\/)\/+$/, '')
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name] ?? ''
    return isUuid(value) ? value.toLowerCase() : encodeURIComponent(value)
  })
}
