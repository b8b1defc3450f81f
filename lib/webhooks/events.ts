import * as z from 'zod'
import { refuse, type TrocoError } from '#lib/core/errors.ts'
import { anyObject, instant, listLimit, modeField, must, openApiMeta } from '#lib/core/fields.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db, Prisma, type Tx } from '#lib/db/client.ts'
import { EVENT_TYPES, type EventType, PING, TEST_EVENT_TYPES } from '#lib/webhooks/states.ts'

/** Stored event; `resource` is the row of its subject at that time. */
export interface EventRow {
  id: string
  type: EventType
  mode: Mode
  sequence: bigint | number
  resource: unknown
  created_at: string
}

/** `showsDocuments`: whether payers' documents are serialized in full or masked. */
export type ResourceSerializers = Record<
  'transaction' | 'withdrawal',
  (resource: unknown, showsDocuments: boolean) => object
>

/** Serializers of what a receiver gets. `apiPix`: of the body that API Pix demands, for payments and refunds. */
export interface BodySerializers extends ResourceSerializers {
  apiPix: (accountId: string, mode: Mode, resource: unknown) => object
}

/** Serializes an event for a webhook body and for GET /events. */
export function eventToWire(
  event: EventRow,
  serializers: ResourceSerializers,
  showsDocuments: boolean,
) {
  const [subject, name] = event.type.split('.') as [keyof ResourceSerializers, string]
  return {
    id: event.id,
    type: event.type,
    event: name,
    mode: event.mode,
    sequence: Number(event.sequence),
    created_at: event.created_at,
    ...serializers[subject](event.resource, showsDocuments),
  }
}

/** Serializes an event for an endpoint: as for a webhook_url, with payer, items and UTMs added. */
export function eventToIntegration(
  event: EventRow,
  serializers: ResourceSerializers,
  showsDocuments: boolean,
) {
  const body: Record<string, unknown> = eventToWire(event, serializers, showsDocuments)
  const { transaction } = body as { transaction?: Record<string, unknown> }
  if (!transaction) return body
  const { client_name, client_email, client_doc, client_phone, items, utms } = transaction
  const client = { name: client_name, email: client_email, doc: client_doc, phone: client_phone }
  return { ...body, client, products: items ?? [], utms: utms ?? {} }
}

const AFTER_RULE = 'be a sequence number: 0 or the next_after of a previous response'

const EPOCH_RULE = 'be the Troco-Feed-Epoch of a previous response'

export const eventsQuery = z.object({
  after: z
    .string()
    .regex(/^\d{1,15}$/, must(AFTER_RULE))
    .transform(Number)
    .default(0)
    .meta({
      like: z.int().min(0).default(0),
      ...openApiMeta(
        'Sequence number of the last event that you have read. 0 starts at the first event.',
        0,
      ),
    }),
  epoch: z
    .string()
    .regex(/^[0-9a-f]{16}$/, must(EPOCH_RULE))
    .optional()
    .meta(
      openApiMeta(
        'The `Troco-Feed-Epoch` of the response that you continue. If the feed has another one, because a backup was restored or the token is of the other mode, the response is 410 and says where to continue.',
        'b54f1c0e9a7d3362',
      ),
    ),
  form: z
    .enum(['webhook_url', 'endpoint'], must('be webhook_url or endpoint'))
    .default('webhook_url')
    .meta(
      openApiMeta(
        'Form of the events: as a `webhook_url` receives them, or as an endpoint does, with `client`, `products` and `utms`.',
        'endpoint',
      ),
    ),
  limit: listLimit(100),
})

const EVENT_ID = '01a1fbbf-2574-7f02-a3c8-1b6d0e4f9a77'
const UNPAID = { paid_at: null, end_to_end_id: null }
const REFUSED = {
  status: 'rejected',
  rejection_reason: 'The receiving account is closed',
  rejection_code: 'account_closed',
}
const EVENT_TIME = '2026-11-21T01:36:10.611204Z'

/** What an event contains beside its charge, and the fields in which its sample differs. */
type More = ['refund' | 'dispute' | 'return' | 'payment', sample: object]

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
  'transaction.returned': [
    'The bank returned the payment, or a part of it, to the payer without a refund of yours. The amount has left the balance.',
    { returned_amount: 1500 },
    ['return', {}],
  ],
  'transaction.amount_mismatch': [
    'A payment of another amount arrived for a charge, which stays unpaid. Your administrator returns the payment or credits it.',
    { status: 'pending', ...UNPAID },
    ['payment', {}],
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

type Shapes = Record<'transaction' | 'withdrawal' | More[0], z.ZodType>
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

interface EventRange {
  /** Oldest stored sequence number, or `last` + 1. */
  oldest: number
  /** Last assigned sequence number, or 0. */
  last: number
  /** Within an epoch, sequence numbers have no gaps and are given once. */
  epoch: string
  /** The restore that the reader has not heard of: the last number that it kept, and where to go on. */
  restore: { epoch: string; kept: number; next: number } | null
}

/** The epoch of a feed `s` that no restore has changed. */
const firstEpoch = Prisma.sql`left(md5(k.account_id || k.mode), 16)`

/** Reads the range of a feed for a reader at `after`, who knows the epoch `known` or none. */
export async function readEventRange(
  accountId: string,
  mode: Mode,
  after: number,
  known: string | undefined,
): Promise<EventRange> {
  const [range] = await db().$queryRaw<
    { oldest: bigint | null; last: bigint | null; epoch: string; restore: EventRange['restore'] }[]
  >`
    SELECT s.last, coalesce(s.epoch, ${firstEpoch}) AS epoch, (
      SELECT e.sequence FROM events e
      WHERE e.account_id = s.account_id AND e.mode = s.mode ORDER BY e.sequence LIMIT 1) AS oldest, (
      SELECT json_build_object('epoch', f.epoch, 'kept', f.kept, 'next', f.next) FROM feed_epochs f
      WHERE f.account_id = s.account_id AND f.mode = s.mode
        AND (f.epoch = ${known ?? null} OR (f.kept <= ${after}::bigint AND f.next > ${after}::bigint))
      ORDER BY f.epoch = ${known ?? null} DESC, f.next LIMIT 1) AS restore
    FROM (SELECT ${accountId}::uuid AS account_id, ${mode} AS mode) k
    LEFT JOIN event_sequences s USING (account_id, mode)`
  if (!range) throw new Invariant('the range of a feed is one row')
  const last = Number(range.last ?? 0)
  const oldest = Number(range.oldest ?? last + 1)
  return { oldest, last, epoch: range.epoch, restore: range.restore }
}

/**
 * Returns why a reader cannot go on at `after`; null if it can. What a restore kept, it has read under the same
 * numbers, so it goes on there; what came after that is gone, and so are the numbers up to the next epoch.
 */
export function judgePosition(
  { oldest, last, epoch, restore }: EventRange,
  after: number,
  known: string | undefined,
): TrocoError | null {
  const feed = { epoch, lastSequence: last }
  const isOther = known !== undefined && known !== epoch
  if (restore && (isOther ? restore.epoch === known : after > restore.kept)) {
    const { kept, next } = restore
    const continueAfter = after <= kept ? after : next
    return refuse('feed_restored', { ...feed, continueAfter, lastKept: kept })
  }
  if (isOther) return refuse('feed_epoch_changed', { ...feed, continueAfter: oldest - 1 })
  if (after > last) return refuse('after_beyond_feed', { ...feed, continueAfter: last })
  // The number after the last that was kept is the first of the next epoch.
  const position = restore?.kept === after ? restore.next : after
  return position + 1 < oldest && position < last
    ? refuse('events_gone', { ...feed, continueAfter: oldest - 1 })
    : null
}

/**
 * Gives every event feed another epoch: prisma/functions/troco_renew_feeds.sql. The feeds of a restored database
 * would give out numbers again that readers have seen. Returns the number of feeds. Of one account only, if it is
 * given.
 */
export async function renewFeedEpochs(accountId?: string, tx: Tx = db()): Promise<number> {
  const [row] = await tx.$queryRaw<{ renewed: number }[]>`
    SELECT troco_renew_feeds(${accountId ?? null}::uuid) AS renewed`
  return row?.renewed ?? 0
}
