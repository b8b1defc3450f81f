import { connectionName } from '#lib/banks/connection.ts'
import type { GatewayResult } from '#lib/banks/gateway.ts'
import { currentLogContext, log } from '#lib/core/log.ts'
import { increment, observe } from '#lib/core/metrics.ts'
import { childSpan, parseCause, recordSpan } from '#lib/core/trace.ts'

/** Time for one call while a caller waits: another can follow within the limit of all. */
const CALL_MAX_MS = 4_000
/** Time for all calls and pauses: with the statements around them, a caller waits 8 s at most. */
export const CALLS_MAX_MS = 7_000

/** Returns the time for the next of the calls that end before `deadline`. */
export function callTimeoutMs(deadline: number): number {
  return Math.min(CALL_MAX_MS, deadline - performance.now())
}

export const TIMED_OUT = { outcome: 'unknown', reason: 'no response in time' } as const

/** Calls a bank about these subjects, counts the call and traces it. */
export async function callMeasured<Value>(
  subjects: Called[],
  { operation, make }: { operation: string; make: MakeCall<Value> },
  timeoutMs: number,
): Promise<GatewayResult<Value>> {
  const began = performance.now()
  const result = await callWithTimeout(operation, make, timeoutMs)
  const tookMs = performance.now() - began
  const { outcome } = result
  const connection = connectionName(subjects[0]?.connectionId ?? '')
  const labels = [connection, operation]
  increment('troco_bank_calls_total', [...labels, outcome])
  observe('troco_bank_call_seconds', labels, tookMs / 1_000)
  const attributes = {
    'troco.connection': connection,
    'troco.operation': operation,
    'troco.outcome': outcome,
  }
  recordSpan(() => ({
    ...{ trace: childSpan(causeOf(subjects)), name: `bank ${operation}`, kind: 'client' },
    ...{ endMs: Date.now(), tookMs, attributes },
    // A refusal is the bank's decision about an order, not a failed call.
    isFailed: outcome !== 'ok' && outcome !== 'rejected',
  }))
  return result
}

interface Called {
  connectionId: string
  trace?: string | null
}

/** Returns the request that a call belongs to. A call about several subjects has none of theirs. */
function causeOf([subject, ...others]: Called[]) {
  const cause = others.length === 0 ? parseCause(subject?.trace ?? null) : null
  return cause ?? currentLogContext().trace
}

type MakeCall<Value> = (signal: AbortSignal) => Promise<GatewayResult<Value>>

/** Calls a bank. An error, or no response in time, is the outcome `unknown`; the call is aborted. */
async function callWithTimeout<Value>(
  operation: string,
  make: MakeCall<Value>,
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
