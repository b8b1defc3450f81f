import { Invariant } from '#lib/base/invariant.ts'
import type { Mode } from '#lib/base/mode.ts'
import { inOrder } from '#lib/services/webhooks/connection.ts'
import { type Call, type Exchange, exchange } from '#lib/services/webhooks/exchange.ts'
import { problemOfFailure, Stopped, stoppedBy } from '#lib/services/webhooks/failure.ts'
import type { Problem } from '#lib/services/webhooks/problem.ts'
import { problemOfAnswer, retryAfterOf } from '#lib/services/webhooks/response.ts'
import { findTarget, nameOf, type Resolve } from '#lib/services/webhooks/target.ts'

export interface Post {
  url: string
  mode: Mode
  headers: Record<string, string>
  body: string
}

export interface Outcome {
  status: number | null
  headers: Record<string, string> | null
  body: string | null
  problem: Problem | null
  address: string | null
  durationMs: number
  retryAfterMs: number | null
}

interface Options {
  signal?: AbortSignal
  resolve?: Resolve
  connectMs?: number
  totalMs?: number
}

const CONNECT_MS = 5_000
const TOTAL_MS = 15_000
/** Minimum connect time of each of several addresses, so that a distant one can respond. */
const TRY_MS_MIN = 1_000

/**
 * Sends one POST to a checked address. Never throws, has a time limit, follows no redirect and
 * stores little. Only the status decides the outcome; a body that fails or stalls changes nothing.
 */
export async function postWebhook(post: Post, options: Options = {}): Promise<Outcome> {
  const { connectMs = CONNECT_MS, totalMs = TOTAL_MS } = options
  const startedAt = performance.now()
  const clock = new AbortController()
  const interrupt = () => clock.abort(stoppedBy('interrupted'))
  const late = new Stopped({ code: 'timeout', params: { seconds: totalMs / 1_000 } })
  const timer = setTimeout(() => clock.abort(late), totalMs)
  options.signal?.addEventListener('abort', interrupt)
  if (options.signal?.aborted) interrupt()
  try {
    return { ...(await attempt(post, clock.signal, connectMs, options.resolve)), ...spent() }
  } catch (error) {
    return { ...NOTHING, problem: problemOfFailure(error, post.url), ...spent() }
  } finally {
    clearTimeout(timer)
    options.signal?.removeEventListener('abort', interrupt)
  }

  function spent() {
    return { durationMs: Math.round(performance.now() - startedAt) }
  }
}

type Found = Omit<Outcome, 'durationMs'>
const NOTHING: Found = {
  ...{ status: null, headers: null, body: null },
  ...{ problem: null, address: null, retryAfterMs: null },
}

async function attempt(
  post: Post,
  signal: AbortSignal,
  connectMs: number,
  resolve?: Resolve,
): Promise<Found> {
  const target = await unlessAborted(findTarget(post.url, post.mode, resolve), signal)
  if ('problem' in target) return { ...NOTHING, problem: target.problem }
  const { headers, body } = post
  const { answer, error, address } = await callInTurn({ target, headers, body, signal }, connectMs)
  if (!answer) return { ...NOTHING, problem: problemOfFailure(error, nameOf(target.url)), address }
  return {
    ...answer,
    problem: problemOfAnswer(answer),
    address,
    retryAfterMs: retryAfterOf(answer),
  }
}

/** Tries the next address only if the receiver cannot have received anything. */
async function callInTurn(call: Call, connectMs: number): Promise<Exchange> {
  const endsAt = performance.now() + connectMs
  const addresses = inOrder(call.target)
  let last: Exchange | undefined
  for (const [at, address] of addresses.entries()) {
    const leftMs = endsAt - performance.now()
    if (last && leftMs <= 0) return last
    const shareMs = Math.min(leftMs, Math.max(leftMs / (addresses.length - at), TRY_MS_MIN))
    last = await exchange(call, address, shareMs, true)
    if (last.stale) last = await exchange(call, address, shareMs, false)
    if (last.connected || call.signal.aborted) return last
  }
  if (!last) throw new Invariant('a webhook target has no address')
  return last
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((done, fail) => {
    const stop = () => fail(signal.reason)
    signal.addEventListener('abort', stop)
    if (signal.aborted) stop()
    work.then(done, fail)
  })
}
