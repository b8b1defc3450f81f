import * as z from 'zod'
import { anyObject, instant, listLimit, must } from '#lib/fields.ts'
import { MODES, type Mode } from '#lib/mode.ts'

export const EVENT_TYPES = [
  'transaction.paid',
  'transaction.expired',
  'transaction.failed',
  'transaction.refunded',
  'transaction.refund_failed',
  'withdrawal.approved',
  'withdrawal.rejected',
] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** An event as it is kept; `resource` is the row of what it is about, as it stood then. */
export interface EventRow {
  id: string
  type: EventType
  mode: Mode
  sequence: bigint | number
  resource: unknown
  created_at: string
}

/** How the rooms write out what an event is about. */
export type Tellers = Record<'transaction' | 'withdrawal', (resource: unknown) => object>

/** The body of a webhook, and the entry of GET /events: the same. */
export function eventToWire(event: EventRow, tell: Tellers) {
  const [about, what] = event.type.split('.') as [keyof Tellers, string]
  return {
    id: event.id,
    type: event.type,
    event: what,
    mode: event.mode,
    sequence: Number(event.sequence),
    created_at: event.created_at,
    ...tell[about](event.resource),
  }
}

const AFTER = 'be a sequence number: 0, or the next_after of an answer before'

export const eventsQuery = z.object({
  after: z
    .string()
    .regex(/^\d{1,15}$/, must(AFTER))
    .transform(Number)
    .default(0),
  limit: listLimit(100),
})

export const WebhookBody = z.object({
  id: z.uuid(),
  type: z.enum(EVENT_TYPES),
  event: z.string(),
  mode: z.enum(MODES),
  sequence: z.int(),
  created_at: instant,
  transaction: anyObject.optional(),
  refund: anyObject.optional(),
  withdrawal: anyObject.optional(),
})

export const EventPage = z.object({ data: z.array(WebhookBody), next_after: z.int() })
