import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { db } from '#lib/base/db/client.ts'
import {
  type IdempotentRequest,
  keyCondition,
  lockedUntilSql,
  storeKeySql,
} from '#lib/base/db/once.ts'
import { invalidInput, isTrocoError, parseDatabaseError, refuse } from '#lib/base/errors.ts'
import { isObject } from '#lib/base/fields.ts'
import { newId } from '#lib/base/ids.ts'
import type { Mode } from '#lib/base/mode.ts'
import { json, jsonText } from '#lib/edge/http/answer.ts'
import type { Answer, Incoming } from '#lib/edge/http/exchange.ts'

const KEY_MAX = 255
const PATH_MAX = 500
/** How long a repeated request waits for the first one to finish. */
const WAIT_MAX_MS = 10_000
const WAIT_STEP_MS = 50

export interface Rule {
  keptS: number
  /** Rebuilds the first response from the row that the verb stored with the key. */
  recall?: (call: { account: string; mode: Mode }, id: string) => Promise<unknown>
}

type Act = (once: IdempotentRequest) => Promise<unknown>
type Scope = Pick<IdempotentRequest, 'accountId' | 'mode' | 'path' | 'key'>

interface KeptKey {
  id: string
  answer: string | null
  sameRequest: boolean
  state: 'done' | 'running' | 'abandoned'
}

export function readKey({ header }: Incoming): string | null {
  const key = header('idempotency-key')
  if (key === null || (key !== '' && key.length <= KEY_MAX)) return key
  throw invalidInput('Idempotency-Key', `must have 1 to ${KEY_MAX} characters`)
}

/**
 * Runs `act` once per key and replays the first response. Refusals are not stored, because nothing
 * happened: the same key may succeed later.
 */
export async function actOnce(
  scope: Scope,
  content: Record<string, unknown>,
  rule: Rule,
  act: Act,
): Promise<Answer> {
  const requestHash = hashContent(content)
  const once = { ...shorten(scope), requestHash, keptS: rule.keptS, id: newId(), resumed: false }
  const name = [once.accountId, once.mode, once.path, once.key].join('\n')
  const twin = await running.get(name)
  if (twin && Buffer.compare(twin.requestHash, requestHash) === 0) return again(twin.text)
  const answer = actUntilKnown(once, rule, act)
  const told = answer.then(
    ({ text }) => ({ requestHash, text }),
    () => null,
  )
  running.set(name, told)
  try {
    return await answer
  } finally {
    if (running.get(name) === told) running.delete(name)
  }
}

/** Requests with the same key wait here instead of each holding a database connection. */
const running = new Map<string, Promise<{ requestHash: Uint8Array; text: string } | null>>()

async function actUntilKnown(once: IdempotentRequest, rule: Rule, act: Act): Promise<Answer> {
  for (const began = performance.now(); performance.now() - began < WAIT_MAX_MS; ) {
    const done = await tryOnce(once, rule, act)
    if (done) return done
    await sleep(WAIT_STEP_MS)
  }
  throw refuse('in_progress')
}

/** Hashes long paths: the size of an index entry is limited. Only the id in a path can be long. */
function shorten(scope: Scope): Scope {
  if (scope.path.length <= PATH_MAX) return scope
  return { ...scope, path: createHash('sha256').update(scope.path).digest('hex') }
}

function again(text: string): Answer {
  return jsonText(200, text, { 'idempotent-replayed': 'true' })
}

/** Returns null if another request holds the key, or held it a moment ago. */
async function tryOnce(once: IdempotentRequest, rule: Rule, act: Act): Promise<Answer | null> {
  try {
    const key = rule.recall ? null : storeKeySql(once, true)
    if (key) await db().$executeRaw(key)
    return await actNow(once, rule, act)
  } catch (error) {
    const isTwin = parseDatabaseError(error).constraint === 'idempotency_keys_pkey'
    if (!isTwin && !isTrocoError(error)) throw error
    // The bank is down: a later request may retry under this key, but this one must not.
    if (isTrocoError(error) && error.code === 'service_unavailable') throw error
    // Any other refusal may follow from a first request that succeeded: look for its response.
    const kept = await findKey(once)
    if (kept) return tellAgain(kept, once, rule, act)
    if (isTwin) return null
    throw error
  }
}

async function actNow(once: IdempotentRequest, rule: Rule, act: Act): Promise<Answer> {
  if (rule.recall) return json(200, await act(once))
  try {
    const text = JSON.stringify(await act(once))
    await db().$executeRaw`
      UPDATE idempotency_keys SET status = 200, answer = ${text}, locked_until = NULL
      WHERE ${keyCondition(once)}`
    return jsonText(200, text)
  } catch (error) {
    await db()
      .$executeRaw`DELETE FROM idempotency_keys WHERE ${keyCondition(once)} AND answer IS NULL`
    throw error
  }
}

async function tellAgain(
  kept: KeptKey,
  once: IdempotentRequest,
  rule: Rule,
  act: Act,
): Promise<Answer | null> {
  if (!kept.sameRequest) {
    throw invalidInput('Idempotency-Key', 'was already used with a different body: send a new key')
  }
  if (kept.state === 'running') return null
  if (kept.state === 'abandoned') {
    const taken = await holdAgain(once)
    return taken ? actNow({ ...once, id: kept.id, resumed: true }, rule, act) : null
  }
  const { accountId: account, mode } = once
  const text = kept.answer ?? JSON.stringify(await rule.recall?.({ account, mode }, kept.id))
  return again(text)
}

async function findKey(once: IdempotentRequest): Promise<KeptKey | null> {
  const [kept] = await db().$queryRaw<(KeptKey & { expired: boolean })[]>`
    SELECT resource_id AS id, answer, request_hash = ${once.requestHash} AS "sameRequest",
      CASE WHEN locked_until IS NULL THEN 'done' WHEN locked_until > now() THEN 'running'
        ELSE 'abandoned' END AS state, expires_at <= now() AS expired
    FROM idempotency_keys WHERE ${keyCondition(once)}`
  if (!kept?.expired) return kept ?? null
  await db().$executeRaw`
    DELETE FROM idempotency_keys WHERE ${keyCondition(once)} AND expires_at <= now()`
  return null
}

/** Claims a key whose process died. Of several retries, one succeeds and continues the work. */
async function holdAgain(once: IdempotentRequest): Promise<boolean> {
  const taken = await db().$executeRaw`
    UPDATE idempotency_keys SET locked_until = ${lockedUntilSql}
    WHERE ${keyCondition(once)} AND locked_until <= now()`
  return taken === 1
}

/** Hashes the fields in sorted order: equal content is the same request, however it was written. */
function hashContent(content: Record<string, unknown>): Uint8Array<ArrayBuffer> {
  const text = JSON.stringify(content, (_key, value) =>
    isObject(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
  return new Uint8Array(createHash('sha256').update(text).digest())
}
