import * as z from 'zod'
import { instant, modeField, openApiMeta } from '#lib/base/fields.ts'
import type { ResourceSerializers } from '#lib/services/webhooks/event-wire.ts'
import { EVENT_TYPES, type EventType } from '#lib/services/webhooks/states.ts'

const EVENT_ID = '01a1fbbf-2574-7f02-a3c8-1b6d0e4f9a77'
const UNPAID = { paid_at: null, end_to_end_id: null }
const REFUSED = { status: 'rejected', rejection_reason: 'The receiving account is closed' }
const EVENT_TIME = '2026-11-21T01:36:10.611204Z'

/** Description of each event type, and the fields in which its sample differs from the example. */
const MEANINGS: Record<EventType, [says: string, resource: object, refund?: object]> = {
  'transaction.paid': ['A charge was paid. Its amount is in the balance.', {}],
  'transaction.expired': ['A charge expired unpaid.', { status: 'expired', ...UNPAID }],
  'transaction.failed': ['A charge failed at the bank.', { status: 'failed', ...UNPAID }],
  'transaction.refunded': [
    'A refund was completed. The payer has received it.',
    { refunded_amount: 500 },
    {},
  ],
  'transaction.refund_failed': [
    'A refund was rejected. Its amount has returned to the balance.',
    {},
    { ...REFUSED, return_id: null, completed_at: null, rejected_at: EVENT_TIME },
  ],
  'withdrawal.approved': ['A withdrawal was approved. Its amount has left the account.', {}],
  'withdrawal.rejected': [
    'A withdrawal was rejected. Its amount has returned to the balance.',
    { ...REFUSED, end_to_end_id: null, approved_at: null, rejected_at: EVENT_TIME },
  ],
  'withdrawal.returned': [
    'The receiver’s bank sent a withdrawal back, or a part of it. The amount has returned to the balance.',
    { returned_amount: 5000 },
  ],
}

type Shapes = Record<'transaction' | 'refund' | 'withdrawal', z.ZodType>
type EventShape = ReturnType<typeof eventSchema>

export function eventPageSchema(shapes: Shapes) {
  const events = EVENT_TYPES.map(type => eventSchema(type, shapes))
  const Event = z.discriminatedUnion('type', events as [EventShape, ...EventShape[]]).meta({
    id: 'Event',
    ...openApiMeta('Event: the body of a webhook, and an entry of GET /events.'),
    discriminator: {
      propertyName: 'type',
      mapping: Object.fromEntries(EVENT_TYPES.map(schemaReference)),
    },
  })
  return z
    .object({
      data: z.array(Event).meta(openApiMeta('Oldest first.')),
      next_after: z.int().meta(openApiMeta('Send it as `after` to read the next events.', 1)),
      last_sequence: z.int().meta(openApiMeta('Sequence number of the newest event.', 1)),
    })
    .meta({ id: 'EventPage' })
}

/** The metadata `webhook` is the key under `webhooks` in the OpenAPI document. */
function eventSchema(type: EventType, shapes: Shapes) {
  const [subject, eventName] = type.split('.') as [keyof ResourceSerializers, string]
  const [description, sample, refundSample] = MEANINGS[type]
  const resource = shapes[subject].meta({ sample })
  const refund = refundSample && { refund: shapes.refund.meta({ sample: refundSample }) }
  return z
    .object({
      id: z
        .uuid()
        .meta(
          openApiMeta(
            'Id of the event, equal to `webhook-id` and the same in every attempt.',
            EVENT_ID,
          ),
        ),
      type: z.literal(type),
      event: z.literal(eventName),
      mode: modeField,
      sequence: z
        .int()
        .meta(
          openApiMeta(
            'Number of the event within the account and mode, without gaps within an epoch of the feed. It can exceed 32 bits.',
            1,
          ),
        ),
      created_at: instant.meta(openApiMeta('Time of the event.', EVENT_TIME)),
      [subject]: resource,
      ...refund,
    })
    .meta({ id: schemaId(type), webhook: type, ...openApiMeta(description) })
}

function schemaReference(type: EventType): [string, string] {
  return [type, `#/components/schemas/${schemaId(type)}`]
}

/** Converts `transaction.refund_failed` to `TransactionRefundFailed`. */
function schemaId(type: EventType): string {
  return type.replaceAll(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
