import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { db } from '#lib/base/db/client.ts'
import { heldUntil, isKey, type Once, storeKey } from '#lib/base/db/once.ts'
import { databaseFault, invalidInput, isTrocoError, refuse } from '#lib/base/errors.ts'
import { isObject } from '#lib/base/fields.ts'
import { newId } from '#lib/base/ids.ts'
import type { Mode } from '#lib/base/mode.ts'
import { json, jsonText } from '#lib/edge/http/answer.ts'
import type { Answer, Incoming } from '#lib/edge/http/exchange.ts'

const KEY_MAX = 255
const PATH_MAX = 500
/** How long a twin waits for the first to be answered. */
const WAIT_MAX_MS = 10_000
const WAIT_STEP_MS = 50

/** How the answers of an endpoint are kept. */
export interface Rule {
  keptS: number
  /** Tells the first answer again from the row that the verb wrote with the key. */
  recall?: (call: { account: string; mode: Mode }, id: string) => Promise<unknown>
}

type Act = (once: Once) => Promise<unknown>
type Scope = Pick<Once, 'accountId' | 'mode' | 'path' | 'key'>

interface KeptKey {
  id: string
  answer: string | null
  sameRequest: boolean
  state: 'done' | 'running' | 'abandoned'
}

/** The key that a caller sent, if any. */
export function readKey({ header }: Incoming): string | null {
  const key = header('idempotency-key')
  if (key === null || (key !== '' && key.length <= KEY_MAX)) return key
  throw invalidInput('Idempotency-Key', `must have 1 to ${KEY_MAX} characters`)
}

/**
 * Acts once, however often the same request comes, and tells the first answer again. Nothing that was
 * refused is kept, since nothing happened: the same key may succeed later.
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

/** Twins in this process wait for the first here instead of at the database, a connection each. */
const running = new Map<string, Promise<{ requestHash: Uint8Array; text: string } | null>>()

async function actUntilKnown(once: Once, rule: Rule, act: Act): Promise<Answer> {
  for (const began = performance.now(); performance.now() - began < WAIT_MAX_MS; ) {
    const done = await tryOnce(once, rule, act)
    if (done) return done
    await sleep(WAIT_STEP_MS)
  }
  throw refuse('in_progress')
}

/** An index holds no path of any length, and only the id in it can be long. */
function shorten(scope: Scope): Scope {
  if (scope.path.length <= PATH_MAX) return scope
  return { ...scope, path: createHash('sha256').update(scope.path).digest('hex') }
}

function again(text: string): Answer {
  return jsonText(200, text, { 'idempotent-replayed': 'true' })
}

/** Null: another one is at it, or was a moment ago. */
async function tryOnce(once: Once, rule: Rule, act: Act): Promise<Answer | null> {
  try {
    const key = rule.recall ? null : storeKey(once, true)
    if (key) await db().$executeRaw(key)
    return await actNow(once, rule, act)
  } catch (error) {
    const isTwin = databaseFault(error).constraint === 'idempotency_keys_pkey'
    if (!isTwin && !isTrocoError(error)) throw error
    // A bank that is down may be asked again under this key, but not by this request.
    if (isTrocoError(error) && error.code === 'service_unavailable') throw error
    // Another refusal may be only the echo of a first request that did succeed.
    const kept = await findKey(once)
    if (kept) return tellAgain(kept, once, rule, act)
    if (isTwin) return null
    throw error
  }
}

async function actNow(once: Once, rule: Rule, act: Act): Promise<Answer> {
  if (rule.recall) return json(200, await act(once))
  try {
    const text = JSON.stringify(await act(once))
    await db().$executeRaw`
      UPDATE idempotency_keys SET status = 200, answer = ${text}, locked_until = NULL
      WHERE ${isKey(once)}`
    return jsonText(200, text)
  } catch (error) {
    await db().$executeRaw`DELETE FROM idempotency_keys WHERE ${isKey(once)} AND answer IS NULL`
    throw error
  }
}

async function tellAgain(kept: KeptKey, once: Once, rule: Rule, act: Act): Promise<Answer | null> {
  if (!kept.sameRequest) {
    throw invalidInput('Idempotency-Key', 'was used before with another body: send a new key')
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

async function findKey(once: Once): Promise<KeptKey | null> {
  const [kept] = await db().$queryRaw<(KeptKey & { expired: boolean })[]>`
    SELECT resource_id AS id, answer, request_hash = ${once.requestHash} AS "sameRequest",
      CASE WHEN locked_until IS NULL THEN 'done' WHEN locked_until > now() THEN 'running'
        ELSE 'abandoned' END AS state, expires_at <= now() AS expired
    FROM idempotency_keys WHERE ${isKey(once)}`
  if (!kept?.expired) return kept ?? null
  await db().$executeRaw`
    DELETE FROM idempotency_keys WHERE ${isKey(once)} AND expires_at <= now()`
  return null
}

/** Whose process died left its key behind; one of those who ask again takes its work up. */
async function holdAgain(once: Once): Promise<boolean> {
  const taken = await db().$executeRaw`
    UPDATE idempotency_keys SET locked_until = ${heldUntil}
    WHERE ${isKey(once)} AND locked_until <= now()`
  return taken === 1
}

/** The same fields with the same values are the same request, in whatever order they were written. */
function hashContent(content: Record<string, unknown>): Uint8Array<ArrayBuffer> {
  const text = JSON.stringify(content, (_key, value) =>
    isObject(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
  return new Uint8Array(createHash('sha256').update(text).digest())
}
