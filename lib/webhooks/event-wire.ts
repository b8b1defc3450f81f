import * as z from 'zod'
import { listLimit, must, openApiMeta } from '#lib/core/fields.ts'
import type { Mode } from '#lib/core/mode.ts'
import type { EventType } from '#lib/webhooks/states.ts'

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
