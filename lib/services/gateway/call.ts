import { log } from '#lib/base/log.ts'
import type { GatewayResult } from '#lib/services/gateway/gateway.ts'

export const TIMED_OUT = { outcome: 'unknown', reason: 'no response in time' } as const

/** Calls a bank. An error, or no response in time, is the outcome `unknown`; the call is aborted. */
export async function callWithTimeout<Value>(
  operation: string,
  make: (signal: AbortSignal) => Promise<GatewayResult<Value>>,
  timeoutMs: number,
): Promise<GatewayResult<Value>> {
  const limit = new AbortController()
  const timeout = new Promise<typeof TIMED_OUT>(resolve => {
    limit.signal.addEventListener('abort', () => resolve(TIMED_OUT))
  })
  const timer = setTimeout(() => limit.abort(), timeoutMs)
  // Logs only the kind of error: its message may contain the request.
  const call = (async () => make(limit.signal))().catch(error => {
    const { code, name } = error as { code?: unknown; name?: unknown }
    const kind = String(code ?? name ?? 'thrown')
    log().warn({ operation, kind }, 'gateway call failed')
    return { outcome: 'unknown', reason: kind } as const
  })
  try {
    return await Promise.race([call, timeout])
  } finally {
    clearTimeout(timer)
  }
}
