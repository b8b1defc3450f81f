import { hostnameOf } from '#lib/core/addresses.ts'
import { parseRetryAfter } from '#lib/core/headers.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import { orderAddresses } from '#lib/webhooks/connection.ts'
import { type Call, type Exchange, exchange } from '#lib/webhooks/exchange.ts'
import { ExchangeError, errorToProblem, exchangeError } from '#lib/webhooks/failure.ts'
import type { Problem } from '#lib/webhooks/problem.ts'
import type { ResolveName } from '#lib/webhooks/resolve-name.ts'
import { isSuccess, responseToProblem } from '#lib/webhooks/response.ts'
import { findTarget } from '#lib/webhooks/target.ts'

export interface WebhookRequest {
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
  resolve?: ResolveName
  connectMs?: number
  totalMs?: number
}

const CONNECT_MS = 5_000
const TOTAL_MS = 15_000
/** Minimum connect time of each of several addresses, so that a distant receiver can respond. */
const ADDRESS_CONNECT_MS_MIN = 1_000

/**
 * Sends one POST to a checked address. Never throws, follows no redirect, limits the time and
 * stores at most 8 KiB of the body. Only the status decides the outcome.
 */
export async function postWebhook(
  request: WebhookRequest,
  options: Options = {},
): Promise<Outcome> {
  const { connectMs = CONNECT_MS, totalMs = TOTAL_MS } = options
  const startedAt = performance.now()
  const controller = new AbortController()
  const interrupt = () => controller.abort(exchangeError('interrupted'))
  const timeout = new ExchangeError({ code: 'timeout', params: { seconds: totalMs / 1_000 } })
  const timer = setTimeout(() => controller.abort(timeout), totalMs)
  options.signal?.addEventListener('abort', interrupt)
  if (options.signal?.aborted) interrupt()
  try {
    return {
      ...(await attemptPost(request, controller.signal, connectMs, options.resolve)),
      ...elapsed(),
    }
  } catch (error) {
    return { ...NO_RESPONSE, problem: errorToProblem(error, request.url), ...elapsed() }
  } finally {
    clearTimeout(timer)
    options.signal?.removeEventListener('abort', interrupt)
  }

  function elapsed() {
    return { durationMs: Math.round(performance.now() - startedAt) }
  }
}

type AttemptResult = Omit<Outcome, 'durationMs'>
const NO_RESPONSE: AttemptResult = {
  ...{ status: null, headers: null, body: null },
  ...{ problem: null, address: null, retryAfterMs: null },
}

async function attemptPost(
  request: WebhookRequest,
  signal: AbortSignal,
  connectMs: number,
  resolve?: ResolveName,
): Promise<AttemptResult> {
  const target = await rejectOnAbort(findTarget(request.url, request.mode, resolve), signal)
  if ('problem' in target) return { ...NO_RESPONSE, problem: target.problem }
  const { headers, body } = request
  const { response, error, address } = await tryAddresses(
    { target, headers, body, signal },
    connectMs,
  )
  if (!response)
    return { ...NO_RESPONSE, problem: errorToProblem(error, hostnameOf(target.url)), address }
  const retryAfterMs = isSuccess(response.status)
    ? null
    : parseRetryAfter(response.headers['retry-after'])
  return { ...response, problem: responseToProblem(response), address, retryAfterMs }
}

/** Tries the next address only if the receiver cannot have received anything. */
async function tryAddresses(call: Call, connectMs: number): Promise<Exchange> {
  const endsAt = performance.now() + connectMs
  const addresses = orderAddresses(call.target)
  let last: Exchange | undefined
  for (const [index, address] of addresses.entries()) {
    const remainingMs = endsAt - performance.now()
    if (last && remainingMs <= 0) return last
    const shareMs = Math.min(
      remainingMs,
      Math.max(remainingMs / (addresses.length - index), ADDRESS_CONNECT_MS_MIN),
    )
    last = await exchange(call, address, shareMs, true)
    if (last.isStale) last = await exchange(call, address, shareMs, false)
    if (last.isConnected || call.signal.aborted) return last
  }
  if (!last) throw new Invariant('a webhook target has no address')
  return last
}

function rejectOnAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop)
    if (signal.aborted) stop()
    work.then(resolve, reject)
  })
}
