import * as z from 'zod'
import { instant, openApiMeta, pageOf } from '#lib/base/fields.ts'
import { reasonParams } from '#lib/base/reason.ts'
import { DISABLED_CODES } from '#lib/services/webhooks/disabled.ts'
import { PROBLEM_CODES } from '#lib/services/webhooks/problem.ts'
import { DELIVERY_STATUSES, EVENT_TYPES } from '#lib/services/webhooks/states.ts'

const headers = z.record(z.string(), z.string())

const Health = z
  .object({
    delivered: z.int(),
    failed: z.int(),
    p95_ms: z
      .int()
      .nullable()
      .meta(openApiMeta('95th percentile of the duration of attempts; null without attempts.')),
  })
  .meta(openApiMeta('Attempts of the last 24 hours, for the latest 1,000 deliveries.'))

export const Endpoint = z.object({
  id: z.uuid(),
  url: z.string(),
  event_types: z.array(z.enum(EVENT_TYPES)),
  full_documents: z
    .boolean()
    .meta(openApiMeta('Whether events contain payers’ documents in full.')),
  status: z.enum(['enabled', 'disabled']),
  disabled_at: instant.nullable(),
  disabled_reason: z.string().nullable(),
  disabled_code: z.enum(DISABLED_CODES).nullable(),
  failing_since: instant
    .nullable()
    .meta(
      openApiMeta('Time since which all attempts have failed; null if the last one succeeded.'),
    ),
  created_at: instant,
  updated_at: instant,
  health: Health,
})
export type Endpoint = z.infer<typeof Endpoint>

export const EndpointRead = z.object({ data: Endpoint })
export const EndpointList = z.object({ data: z.array(Endpoint) })
/** The only response that includes a new endpoint's secret. */
export const EndpointCreated = z.object({ data: Endpoint.extend({ secret: z.string() }) })
export const EndpointDeleted = z.object({
  data: z.object({ id: z.uuid(), deleted: z.literal(true) }),
})
export const EndpointEnabled = z.object({
  data: Endpoint,
  missed: z
    .int()
    .meta(
      openApiMeta('Number of missed deliveries, which are now sent or, if not wanted, stopped.'),
    ),
})

export const SecretShown = z.object({
  data: z.object({
    secret: z.string(),
    created_at: instant,
    previous_retires_at: instant
      .nullable()
      .meta(openApiMeta('Time until which the previous secret also signs; null if none does.')),
  }),
})

export type ShownSecret = z.infer<typeof SecretShown>['data']

const problemCode = z.enum(PROBLEM_CODES).nullable()
const problemParams = reasonParams.nullable()

const attemptFields = {
  problem: z.string().nullable().meta(openApiMeta('Reason for a failure; null after a 2xx.')),
  problem_code: problemCode,
  problem_params: problemParams,
  address: z.string().nullable().meta(openApiMeta('IP address of the connection.')),
  duration_ms: z.int(),
  request_headers: headers,
  request_body: z.string().nullable().meta(openApiMeta('Null once it is pruned.')),
  response_headers: headers.nullable(),
  response_body: z.string().nullable(),
}

export const TestResult = z.object({
  delivered: z.boolean(),
  status: z.int().nullable(),
  ...attemptFields,
})
export type TestResult = z.infer<typeof TestResult>
export const TestRead = z.object({ data: TestResult })

export const Delivery = z.object({
  // Not `z.uuid()`: an endpoint's delivery id is an MD5 of two ids, without UUID version.
  id: z.guid(),
  event_id: z.uuid().meta(openApiMeta('The `webhook-id` of every attempt.')),
  type: z.enum(EVENT_TYPES),
  sequence: z.int(),
  subject_id: z.uuid().meta(openApiMeta('Id of the transaction or withdrawal.')),
  subject_reference: z
    .string()
    .nullable()
    .meta(openApiMeta('The `external_id` of the transaction or withdrawal.')),
  endpoint_id: z
    .uuid()
    .nullable()
    .meta(
      openApiMeta('Null for a delivery to the `webhook_url` of the transaction or withdrawal.'),
    ),
  url: z.string(),
  status: z.enum(DELIVERY_STATUSES),
  is_under_way: z.boolean(),
  attempt_count: z.int(),
  last_response_status: z.int().nullable(),
  last_problem: z.string().nullable(),
  last_problem_code: problemCode,
  last_problem_params: problemParams,
  last_duration_ms: z.int().nullable(),
  next_attempt_at: instant.nullable(),
  delivered_at: instant.nullable(),
  created_at: instant,
  updated_at: instant,
})
export type Delivery = z.infer<typeof Delivery>

export const Attempt = z.object({
  number: z.int(),
  at: instant.meta(openApiMeta('Time at which the attempt ended.')),
  response_status: z.int().nullable(),
  ...attemptFields,
})
export type Attempt = z.infer<typeof Attempt>

export const DeliveryPage = pageOf(Delivery)
export type DeliveryPage = z.infer<typeof DeliveryPage>
export const DeliveryRead = z.object({
  data: Delivery.extend({
    is_masked: z
      .boolean()
      .meta(
        openApiMeta(
          'Whether the attempts lack a payer’s document that was sent in full, their signatures and what the receiver responded.',
        ),
      ),
    attempts: z.array(Attempt).meta(openApiMeta('Oldest first.')),
    later_pauses_s: z
      .array(z.int())
      .meta(
        openApiMeta(
          'Pauses between the next attempt and the later ones, in seconds, while pending.',
        ),
      ),
  }),
})
export type DeliveryDetail = z.infer<typeof DeliveryRead>['data']
export const DeliveryResent = z.object({ data: Delivery })
export const DeliveriesFailed = z.object({
  failed: z
    .int()
    .meta(openApiMeta('Number of deliveries that a resend would send, at most 20,000.')),
})
export type DeliveriesFailed = z.infer<typeof DeliveriesFailed>
export const DeliveriesResent = z.object({
  resent: z.int(),
  more: z.boolean().meta(openApiMeta('Whether more deliveries remain: repeat the request.')),
})
export type DeliveriesResent = z.infer<typeof DeliveriesResent>
