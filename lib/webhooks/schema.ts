import * as z from 'zod'
import {
  hasUserInfo,
  httpsUrl,
  httpUrl,
  listOf,
  listQuery,
  must,
  openApiMeta,
} from '#lib/core/fields.ts'
import { isUuid } from '#lib/core/ids.ts'
import {
  DELIVERY_STATUSES,
  EVENT_TYPE_FILTERS,
  EVENT_TYPES,
  NO_ENDPOINT,
  PING,
  RECEIVER_CHECKS,
  RESEND_DAYS_MAX,
  TEST_EVENT_TYPES,
  type TestEventType,
} from '#lib/webhooks/states.ts'

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
} from '#lib/webhooks/wire.ts'

export const ENDPOINTS_MAX = 10

const USER_INFO_RULE = must(
  'contain no user name or password: check the signature of the events instead',
)
/** Repetitions are accepted. */
const TYPES_SENT_MAX = 100
const TYPES_RULE = must(`be "*" for all, or a list of one or more of: ${EVENT_TYPES.join(', ')}`)
const eventTypes = z
  .union([z.literal('*'), listOf(z.enum(EVENT_TYPES), TYPES_SENT_MAX, { min: 1 })], TYPES_RULE)
  // "*" means the types of this version: an endpoint never receives a type introduced later.
  .transform(requested => EVENT_TYPES.filter(type => requested === '*' || requested.includes(type)))
  .meta(
    openApiMeta('Types of the events to receive, or `*` for all of this version.', [
      'transaction.paid',
    ]),
  )

const fullDocuments = z
  .boolean(must('be true or false'))
  .optional()
  .meta(
    openApiMeta(
      'Whether events contain payers’ CPFs and CNPJs in full, which only a caller with `payers:read` may choose. Default: false.',
      false,
    ),
  )

export const endpointRequest = {
  test: endpointSchema(httpUrl).meta({ id: 'WebhookEndpointRequest' }),
  live: endpointSchema(httpsUrl),
}
export type EndpointRequest = z.infer<typeof endpointRequest.test>

export const endpointChange = {
  test: endpointChangeSchema(httpUrl).meta({
    id: 'WebhookEndpointChange',
    sample: { event_types: ['transaction.paid', 'transaction.refunded'] },
  }),
  live: endpointChangeSchema(httpsUrl),
}
export type EndpointChange = z.infer<typeof endpointChange.test>

function endpointSchema(url: z.ZodType<string, string>) {
  const plain = url.refine(value => !hasUserInfo(value), USER_INFO_RULE)
  return z.object({ url: plain, event_types: eventTypes, full_documents: fullDocuments })
}

function endpointChangeSchema(url: z.ZodType<string, string>) {
  return endpointSchema(url)
    .partial()
    .refine(
      ({ url, event_types, full_documents }) => url || event_types || full_documents !== undefined,
      must('contain url, event_types or full_documents'),
    )
}

/** For operations without fields: a body must still be a JSON object; its fields are ignored. */
export const noFields = forBothModes(z.object({}).meta({ id: 'NoFields', examples: [{}] }))

export const enableRequest = forBothModes(
  z
    .object({
      send_missed: z
        .boolean(must('be true or false'))
        .default(true)
        .meta(
          openApiMeta('Whether to send the events missed since the endpoint began to fail.', true),
        ),
    })
    .meta({ id: 'WebhookEndpointEnable' }),
)

const CHECK_RULE = must(`be one of ${RECEIVER_CHECKS.join(', ')}, and only in test mode`)

/** Request of a test event. The default is the first type of the endpoint; in live mode, the only one. */
export const testRequest = {
  test: testSchema(TEST_EVENT_TYPES).meta({ id: 'TestEventRequest' }),
  // The receiver would believe what it must accept.
  live: testSchema([PING], false),
}

function testSchema(types: readonly TestEventType[], mayCheck = true) {
  return z.object({
    type: z
      .enum(types, must(`be one of ${types.join(', ')}`))
      .optional()
      .meta(
        openApiMeta(
          'Type of the event. A live token sends `troco.ping` only. Default: the first type of the endpoint, in live mode `troco.ping`.',
          'transaction.paid',
        ),
      ),
    check: z
      .enum(RECEIVER_CHECKS, CHECK_RULE)
      .refine(() => mayCheck, CHECK_RULE)
      .optional()
      .meta(
        openApiMeta(
          'Tries the receiver instead of sending an event of `type`: with what it must refuse (`wrong_signature`, `changed_body`, `old_timestamp`) or accept (`genuine`, `duplicate`, `out_of_order`, `unknown_type`, `large`: 1 MB), or whether it responds within 5 seconds (`fast`). Not for endpoints of API Pix.',
          'duplicate',
        ),
      ),
  })
}

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
  .meta(
    openApiMeta(
      'Only deliveries to the endpoint with this id, or with `none` those to a `webhook_url`.',
      NO_ENDPOINT,
    ),
  )
const typeFilter = z
  .enum(EVENT_TYPE_FILTERS, must(`be one of ${EVENT_TYPE_FILTERS.join(', ')}`))
  .optional()
  .meta(openApiMeta('Only events of this type or group.', 'transaction.paid'))
const reference = external_id.meta(
  openApiMeta(
    'Only deliveries of this transaction or withdrawal: its id, its external_id, or the id of an event.',
    'order-1048',
  ),
)
const CURSOR_PATTERN = /^\d{1,15}\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export const deliveriesQuery = z.object({
  limit,
  status,
  created_from,
  created_to,
  endpoint_id,
  reference,
  type: typeFilter,
  cursor: z
    .string()
    .regex(CURSOR_PATTERN, must('be the next_cursor of a previous page'))
    .optional()
    .meta(
      openApiMeta(
        'The `next_cursor` of the previous page.',
        '42.5d2f7c1e-9a04-8b63-1f7e-6c3a0d9b4e28',
      ),
    ),
  subject_id: uuid
    .optional()
    .meta(
      openApiMeta(
        'Only deliveries of the transaction or withdrawal with this id.',
        '01a1fbb6-bf1b-7d40-9b0e-5f0f2d1c88aa',
      ),
    ),
})
export type DeliveriesQuery = z.infer<typeof deliveriesQuery>

const timeFilter = created_from.unwrap()
const PERIOD = { from: '2026-11-20T00:00:00Z', to: '2026-11-21T00:00:00Z' }

export const failedQuery = z
  .object({
    from: timeFilter.meta(
      openApiMeta(`Begin, at most ${RESEND_DAYS_MAX} days before the end.`, PERIOD.from),
    ),
    to: timeFilter.optional().meta(openApiMeta('End of the period. Default: now.', PERIOD.to)),
    endpoint_id,
    reference,
    type: typeFilter,
    status: z
      .enum(['exhausted', 'stopped'], must('be exhausted or stopped'))
      .optional()
      .meta(openApiMeta('Only deliveries with this status. Default: both.', 'exhausted')),
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
export const resendRequest = forBothModes(
  failedQuery.meta({ id: 'WebhookDeliveriesResend', sample: PERIOD }),
)
export type ResendRequest = z.infer<typeof resendRequest.test>

function forBothModes<Shape extends z.ZodType>(shape: Shape) {
  return { test: shape, live: shape }
}
