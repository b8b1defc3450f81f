import type { Mode } from '#lib/core/mode.ts'

/** One step of a trace. It has ids, states, times and hosts, and no data of a payer or receiver. */
export interface TraceStep {
  what:
    | 'request'
    | 'charge'
    | 'withdrawal'
    | 'refund'
    | 'bank_call'
    | 'event'
    | 'delivery'
    | 'attempt'
  at: string
  id: string
  /** Method and path, operation of a bank, type of an event, or host and number of an attempt. */
  name: string | null
  /** Status of a response or row, outcome of a call, or code of a problem. Null: not known yet. */
  outcome: string | null
  duration_ms: number | null
  /** Request that caused the step; null: a job, a payer or a bank did. */
  request_id: string | null
  /** Null where a step is in no trace of its own, as a row. */
  trace_id: string | null
}

/** What happened to a charge with its refunds, to a withdrawal, or because of one request. */
export interface Trace {
  account_id: string
  mode: Mode
  subject: { kind: 'charge' | 'withdrawal'; id: string } | null
  steps: TraceStep[]
}

/** Whether a step ended as it should: null while it is open, or if it has no end. */
export function isGood({ what, outcome }: TraceStep): boolean | null {
  if (outcome === null || outcome === 'pending') return null
  if (what === 'request' || what === 'attempt') return /^[23]\d\d/.test(outcome)
  if (what === 'event') return null
  return ['ok', 'paid', 'approved', 'completed', 'delivered'].includes(outcome)
}
