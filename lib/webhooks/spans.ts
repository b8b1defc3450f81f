import type { Trace } from '#lib/core/log.ts'
import { parseCause, recordSpan } from '#lib/core/trace.ts'
import type { DueDelivery } from '#lib/webhooks/claim-deliveries.ts'
import type { Outcome } from '#lib/webhooks/post.ts'

/** Recorded with the first attempt of each delivery: an event that nobody receives has no span. */
export function traceEvent(due: DueDelivery, trace: Trace): void {
  recordSpan(() => ({
    ...{ trace, name: `event ${due.event.type}`, kind: 'producer' },
    ...{ endMs: Date.parse(due.event.created_at), tookMs: 0, isFailed: false },
    attributes: { ...describeEvent(due), 'troco.event_sequence': Number(due.event.sequence) },
  }))
}

export function traceAttempt(due: DueDelivery, trace: Trace, outcome: Outcome): void {
  const { problem, status, durationMs } = outcome
  recordSpan(() => ({
    ...{ trace, name: `deliver ${due.event.type}`, kind: 'client' },
    ...{ endMs: Date.now(), tookMs: durationMs, isFailed: problem !== null },
    attributes: {
      ...describeEvent(due),
      'troco.delivery_id': due.id,
      'troco.attempt': due.tried + 1,
      'http.request.method': 'POST',
      'http.response.status_code': status,
      'server.address': URL.parse(due.url)?.hostname,
      'error.type': problem?.code,
    },
  }))
}

function describeEvent({ accountId, mode, event, trace }: DueDelivery) {
  return {
    'troco.event_id': event.id,
    'troco.event_type': event.type,
    'troco.account_id': accountId,
    'troco.mode': mode,
    'troco.request_id': parseCause(trace)?.requestId,
  }
}
