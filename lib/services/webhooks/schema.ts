import * as z from 'zod'
import { httpsUrl, httpUrl, listLimit, listQuery, must, openApiMeta } from '#lib/base/fields.ts'
import { isUuid } from '#lib/base/ids.ts'
import type { Mode } from '#lib/base/mode.ts'
import {
  DELIVERY_STATUSES,
  EVENT_TYPE_FILTERS,
  EVENT_TYPES,
  type EventType,
  NO_ENDPOINT,
  RESEND_DAYS_MAX,
} from '#lib/services/webhooks/states.ts'

export type {
  Attempt,
  DeliveriesFailed,
  DeliveriesResent,
  Delivery,
  DeliveryDetail,
  DeliveryPage,
  Endpoint,
  ShownSecret,
  TestResult,
} from '#lib/services/webhooks/wire.ts'

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

export const ENDPOINTS_MAX = 10

const TYPES_RULE = must(`be "*" for all, or a list of one or more of: ${EVENT_TYPES.join(', ')}`)
const eventTypes = z
  .union([z.literal('*'), z.array(z.enum(EVENT_TYPES)).min(1, TYPES_RULE)], TYPES_RULE)
  // "*" means the types of this version: an endpoint never receives a type introduced later.
  .transform(requested => EVENT_TYPES.filter(type => requested === '*' || requested.includes(type)))

const fullDocuments = z
  .boolean(must('be true or false'))
  .optional()
  .meta(
    openApiMeta(
      'Whether events contain payers’ documents in full. Default: as the role of the caller permits.',
    ),
  )

export const endpointRequest = { test: endpointSchema(httpUrl), live: endpointSchema(httpsUrl) }
export type EndpointRequest = z.infer<typeof endpointRequest.test>

export const endpointChange = {
  test: endpointChangeSchema(httpUrl),
  live: endpointChangeSchema(httpsUrl),
}
export type EndpointChange = z.infer<typeof endpointChange.test>

function endpointSchema(url: z.ZodType<string>) {
  return z.object({ url, event_types: eventTypes, full_documents: fullDocuments })
}

function endpointChangeSchema(url: z.ZodType<string>) {
  return endpointSchema(url)
    .partial()
    .refine(
      ({ url, event_types, full_documents }) => url || event_types || full_documents !== undefined,
      must('contain url, event_types or full_documents'),
    )
}

export const enableRequest = forBothModes(
  z.object({ send_missed: z.boolean(must('be true or false')).default(true) }),
)

const eventType = z.enum(EVENT_TYPES, must(`be one of ${EVENT_TYPES.join(', ')}`)).optional()
/** Request of a test event. The default is the first type that the endpoint subscribes to. */
export const testRequest = forBothModes(z.object({ type: eventType }))

const { limit, status, created_from, created_to, external_id } = listQuery(DELIVERY_STATUSES).shape
const UUID_RULE = must('be a UUID')
const uuid = z.string(UUID_RULE).refine(isUuid, UUID_RULE)
const ENDPOINT_RULE = must(
  `be the id of an endpoint, or "${NO_ENDPOINT}" for deliveries to a webhook_url`,
)
const endpoint_id = z
  .string(ENDPOINT_RULE)
  .refine(value => value === NO_ENDPOINT || isUuid(value), ENDPOINT_RULE)
  .optional()
const typeFilter = z
  .enum(EVENT_TYPE_FILTERS, must(`be one of ${EVENT_TYPE_FILTERS.join(', ')}`))
  .optional()
const reference = external_id.meta(
  openApiMeta(
    'Only deliveries of this transaction or withdrawal: its id, its external_id, or the id of an event.',
  ),
)
const CURSOR_PATTERN = /^\d{1,15}\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export const deliveriesQuery = z.object({
  ...{ limit, status, created_from, created_to, endpoint_id, reference },
  type: typeFilter,
  cursor: z
    .string()
    .regex(CURSOR_PATTERN, must('be the next_cursor of a previous page'))
    .optional(),
  subject_id: uuid.optional(),
})
export type DeliveriesQuery = z.infer<typeof deliveriesQuery>

const timeFilter = created_from.unwrap()

export const failedQuery = z
  .object({
    from: timeFilter,
    to: timeFilter.optional(),
    ...{ endpoint_id, reference },
    type: typeFilter,
    status: z.enum(['exhausted', 'stopped'], must('be exhausted or stopped')).optional(),
  })
  .superRefine(({ from, to }, context) => {
    const days = ((to ? Date.parse(to) : Date.now()) - Date.parse(from)) / 86_400_000
    const addProblem = (field: string, message: string) =>
      context.addIssue({ code: 'custom', path: [field], message })
    if (days <= 0) addProblem(to ? 'to' : 'from', to ? 'must be after from' : 'must be in the past')
    if (days <= RESEND_DAYS_MAX) return
    const rule = `must be at most ${RESEND_DAYS_MAX} days before to, or before now if to is absent`
    addProblem('from', rule)
  })
export const resendRequest = forBothModes(failedQuery)
export type ResendRequest = z.infer<typeof resendRequest.test>

function forBothModes<Shape extends z.ZodType>(shape: Shape) {
  return { test: shape, live: shape }
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
        'The `Troco-Feed-Epoch` of the response that you continue. If the feed has another one, because a backup was restored or the token is of the other mode, the response is 410 with where to continue.',
        'b54f1c0e9a7d3362',
      ),
    ),
  limit: listLimit(100),
})
