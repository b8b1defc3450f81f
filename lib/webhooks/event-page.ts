import * as z from 'zod'
import { anyObject, instant, modeField, openApiMeta } from '#lib/core/fields.ts'
import type { ResourceSerializers } from '#lib/webhooks/event-wire.ts'
import { EVENT_TYPES, type EventType, PING, TEST_EVENT_TYPES } from '#lib/webhooks/states.ts'

const EVENT_ID = '01a1fbbf-2574-7f02-a3c8-1b6d0e4f9a77'
const UNPAID = { paid_at: null, end_to_end_id: null }
const REFUSED = {
  status: 'rejected',
  rejection_reason: 'The receiving account is closed',
  rejection_code: 'account_closed',
}
const EVENT_TIME = '2026-11-21T01:36:10.611204Z'

/** What an event contains beside its charge, and the fields in which its sample differs. */
type More = ['refund' | 'dispute', sample: object]

/** Description of each event type, and the fields in which its sample differs from the example. */
const MEANINGS: Record<EventType, [says: string, resource: object, more?: More]> = {
  'transaction.paid': ['A charge was paid. Its amount is in the balance.', {}],
  'transaction.expired': ['A charge expired unpaid.', { status: 'expired', ...UNPAID }],
  'transaction.failed': ['A charge failed at the bank.', { status: 'failed', ...UNPAID }],
  'transaction.refunded': [
    'A refund was completed. The payer has received it.',
    { refunded_amount: 500 },
    ['refund', {}],
  ],
  'transaction.refund_failed': [
    'A refund was rejected. Its amount has returned to the balance.',
    {},
    ['refund', { ...REFUSED, return_id: null, completed_at: null, rejected_at: EVENT_TIME }],
  ],
  'transaction.dispute_opened': [
    'The payer disputes the payment. The disputed amount is held.',
    {},
    ['dispute', {}],
  ],
  'transaction.dispute_closed': [
    'A dispute ended: the amount has returned to the balance, or went to the payer.',
    {},
    ['dispute', { status: 'lost', lost_amount: 1500, closed_at: EVENT_TIME }],
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

/** Fields of every event, in wire order. */
function head<Type extends z.ZodType, Name extends z.ZodType>(type: Type, event: Name) {
  return {
    id: z
      .uuid()
      .meta(
        openApiMeta(
          'Id of the event, equal to `webhook-id` and the same in every attempt.',
          EVENT_ID,
        ),
      ),
    type,
    event,
    mode: modeField,
    sequence: z
      .int()
      .meta(
        openApiMeta(
          'Number of the event within the account and mode, without gaps within an epoch of the feed; 0 for a test event. It can exceed 32 bits.',
          1,
        ),
      ),
    created_at: instant.meta(openApiMeta('Time of the event.', EVENT_TIME)),
  }
}

const EventClient = z
  .object({
    name: z.string().meta(openApiMeta('Name of the payer.', 'Ana Beatriz Rocha')),
    email: z.string().meta(openApiMeta('E-mail of the payer.', 'ana@example.com')),
    doc: z
      .string()
      .meta(
        openApiMeta('CPF or CNPJ of the payer, masked as in the `transaction`.', '529.982.247-25'),
      ),
    phone: z.string().nullable().meta(openApiMeta('Phone of the payer.', '+55 11 98765-4321')),
  })
  .meta({ id: 'EventClient' })

/** Fields that `eventToIntegration` adds. */
const integrationFields = {
  client: EventClient.optional().meta(
    openApiMeta('Payer. Only in webhooks to an endpoint, and with `form=endpoint`.'),
  ),
  products: z
    .array(anyObject)
    .optional()
    .meta(
      openApiMeta(
        '`items` of the charge, or an empty list. Only in webhooks to an endpoint, and with `form=endpoint`.',
        [{ name: 'Café especial 1 kg', price: 1500, quantity: 1 }],
      ),
    ),
  utms: anyObject.optional().meta(
    openApiMeta(
      '`utms` of the charge, or an empty object. Only in webhooks to an endpoint, and with `form=endpoint`.',
      {
        utm_source: 'instagram',
      },
    ),
  ),
}

/** The test event about no payment: sent to an endpoint, but in no feed. */
const Ping = z.object(head(z.literal(PING), z.literal('ping'))).meta({
  id: 'TrocoPing',
  webhook: PING,
  ...openApiMeta('A test of an endpoint. It contains no charge or withdrawal.'),
  sample: { sequence: 0 },
})

const KNOWN_TYPES: string[] = [...TEST_EVENT_TYPES]

/** `not` excludes the known types, so that their events are held against their own schemas. */
const OtherEvent = z
  .object(
    head(
      z
        .string()
        .refine(type => !KNOWN_TYPES.includes(type))
        .meta({
          not: { enum: KNOWN_TYPES },
          ...openApiMeta('A type that this document does not list.', 'transaction.settled'),
        }),
      z.string().meta(openApiMeta('The part of the type after the first dot.', 'settled')),
    ),
  )
  .meta({
    id: 'OtherEvent',
    ...openApiMeta('Event of another type. Accept it, and ignore what you do not know.'),
  })

type Shapes = Record<'transaction' | 'refund' | 'dispute' | 'withdrawal', z.ZodType>
type EventShape = ReturnType<typeof eventSchema>

export function eventPageSchema(shapes: Shapes) {
  const events = EVENT_TYPES.map(type => eventSchema(type, shapes))
  // No discriminator: generated readers would refuse a type that is not in its mapping.
  const Event = z.union([...(events as [EventShape, ...EventShape[]]), Ping, OtherEvent]).meta({
    id: 'Event',
    ...openApiMeta('Event: the body of a webhook, and an entry of GET /events.'),
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
  const [description, sample, more] = MEANINGS[type]
  const resource = shapes[subject].meta({ sample })
  const further = more && { [more[0]]: shapes[more[0]].meta({ sample: more[1] }) }
  return z
    .object({
      ...head(z.literal(type), z.literal(eventName)),
      [subject]: resource,
      ...further,
      ...(subject === 'transaction' ? integrationFields : {}),
    })
    .meta({ id: schemaId(type), webhook: type, ...openApiMeta(description) })
}

/** Converts `transaction.refund_failed` to `TransactionRefundFailed`. */
function schemaId(type: EventType): string {
  return type.replaceAll(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
