import type { Trace } from '#lib/core/log.ts'
import { increment } from '#lib/core/metrics.ts'
import { processWide } from '#lib/core/process-wide.ts'

/**
 * A part of a trace that has ended. Attributes are ids, names, codes and counts: no text of a caller but
 * the request id that it chose.
 */
export interface Span {
  trace: Trace
  name: string
  kind: 'server' | 'client' | 'producer'
  endMs: number
  tookMs: number
  attributes: Record<string, string | number | null | undefined>
  isFailed: boolean
}

/** About 3 MiB. Beyond it, the oldest are dropped. */
export const WAITING_MAX = 4_096

const state = processWide('spans', () => ({
  isExported: false,
  /** By id: the span of an event with several deliveries waits once. */
  waiting: new Map<string, Span>(),
}))

/** Turned on by the exporter: without it, nothing is described or kept. */
export function setExported(isExported: boolean): void {
  state.isExported = isExported
}

/** Keeps a span of a sampled trace for the exporter. Never waits. */
export function recordSpan(describe: () => Span): void {
  if (!state.isExported) return
  const span = describe()
  if (!span.trace.isSampled) return
  state.waiting.set(span.trace.spanId, span)
  dropOldest()
}

export function takeSpans(limit: number): Span[] {
  const taken = [...state.waiting.values().take(limit)]
  for (const { trace } of taken) state.waiting.delete(trace.spanId)
  return taken
}

/** Puts spans back before those that were recorded since. */
export function returnSpans(spans: Span[]): void {
  const returned = spans.map(span => [span.trace.spanId, span] as const)
  state.waiting = new Map([...returned, ...state.waiting])
  dropOldest()
}

export function countWaiting(): number {
  return state.waiting.size
}

function dropOldest(): void {
  const excess = state.waiting.size - WAITING_MAX
  if (excess > 0) increment('troco_spans_total', ['dropped'], takeSpans(excess).length)
}
