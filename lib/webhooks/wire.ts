import * as z from 'zod'
import { instant, openApiMeta, pageOf, reasonParams } from '#lib/core/fields.ts'
import { PROBLEM_CODES } from '#lib/webhooks/problem.ts'
import { DELIVERY_STATUSES, EVENT_TYPES } from '#lib/webhooks/states.ts'

/** Reasons for disabling an endpoint, with the English message for API clients. */
export const DISABLED_REASONS = {
  by_member: 'Disabled in the dashboard',
  by_token: 'Disabled with an API token',
  gone: 'The receiver answered 410 Gone',
  given_up: 'No success for 5 days, and 10 events given up',
} as const
export type DisabledCode = keyof typeof DISABLED_REASONS
const DISABLED_CODES = Object.keys(DISABLED_REASONS) as DisabledCode[]

export function disabledFields(code: DisabledCode) {
  return { disabledAt: new Date(), disabledCode: code }
}

const ENDPOINT_ID = '01a1fbc8-3d10-7a42-9e6b-2c4f8a1b7d30'
const URL_EXAMPLE = 'https://shop.example/hooks/pix'
const SECRET_EXAMPLE = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw5kVbO3nT1xY='

/** Metadata of a field that is null in the example. */
const none = (description: string) => openApiMeta(description, null)

const Health = z
  .object({
    delivered: z.int().meta(openApiMeta('Attempts that succeeded.', 118)),
    failed: z.int().meta(openApiMeta('Attempts that failed.', 2)),
    p95_ms: z
      .int()
      .nullable()
      .meta(
        openApiMeta('95th percentile of the duration of attempts; null without attempts.', 212),
      ),
  })
  .meta(openApiMeta('Attempts of the last 24 hours, for the latest 1,000 deliveries.'))

export const Endpoint = z
  .object({
    id: z.uuid().meta(openApiMeta('Id of the endpoint.', ENDPOINT_ID)),
    url: z.string().meta(openApiMeta('URL to which events are sent.', URL_EXAMPLE)),
    event_types: z
      .array(z.enum(EVENT_TYPES))
      .meta(openApiMeta('Types of the events that are sent.', ['transaction.paid'])),
    full_documents: z
      .boolean()
      .meta(openApiMeta('Whether events contain payers’ CPFs and CNPJs in full.', false)),
    status: z.enum(['enabled', 'disabled']).meta({
      id: 'WebhookEndpointStatus',
      ...openApiMeta('While `disabled`, the deliveries of the endpoint wait.', 'enabled'),
    }),
    disabled_at: instant.nullable().meta(none('Time of disabling, or null.')),
    disabled_reason: z.string().nullable().meta(none('Reason for disabling, or null.')),
    disabled_code: z
      .enum(DISABLED_CODES)
      .nullable()
      .meta(
        none(
          '`by_member`: in the dashboard. `by_token`: with a token. `gone`: the receiver responded 410. `given_up`: no success for 5 days.',
        ),
      ),
    failing_since: instant
      .nullable()
      .meta(none('Time since which all attempts have failed; null if the last one succeeded.')),
    created_at: instant.meta(openApiMeta('Time of creation.', '2026-11-21T01:20:44.018265Z')),
    updated_at: instant.meta(
      openApiMeta('Time of the last change.', '2026-11-21T01:20:44.018265Z'),
    ),
    health: Health,
  })
  .meta({ id: 'WebhookEndpoint' })
export type Endpoint = z.infer<typeof Endpoint>

export const EndpointRead = z.object({ data: Endpoint }).meta({ id: 'WebhookEndpointRead' })
export const EndpointList = z
  .object({ data: z.array(Endpoint) })
  .meta({ id: 'WebhookEndpointList' })

const secret = z
  .string()
  .meta(openApiMeta('Secret that signs the events of the endpoint.', SECRET_EXAMPLE))

/** The only response that includes a new endpoint's secret. */
export const EndpointCreated = z
  .object({ data: z.intersection(Endpoint, z.object({ secret })) })
  .meta({ id: 'WebhookEndpointCreated' })
export const EndpointDeleted = z
  .object({
    data: z.object({
      id: z.uuid().meta(openApiMeta('Id of the endpoint.', ENDPOINT_ID)),
      deleted: z.literal(true),
    }),
  })
  .meta({ id: 'WebhookEndpointDeleted' })
export const EndpointEnabled = z
  .object({
    data: Endpoint,
    missed: z
      .int()
      .meta(
        openApiMeta(
          'Number of missed deliveries, which are now sent or, if not wanted, stopped.',
          14,
        ),
      ),
  })
  .meta({ id: 'WebhookEndpointEnabled' })

export const SecretShown = z
  .object({
    data: z.object({
      secret,
      created_at: instant.meta(openApiMeta('Time of creation.', '2026-11-21T01:20:44.018265Z')),
      previous_retires_at: instant
        .nullable()
        .meta(
          openApiMeta(
            'Time until which the previous secret also signs; null if none does.',
            '2026-11-22T01:20:44.018265Z',
          ),
        ),
    }),
  })
  .meta({ id: 'WebhookSecret' })

export type ShownSecret = z.infer<typeof SecretShown>['data']

const DELIVERY_ID = '5d2f7c1e-9a04-8b63-1f7e-6c3a0d9b4e28'
const EVENT_ID = '01a1fbbf-2574-7f02-a3c8-1b6d0e4f9a77'
const BODY_EXAMPLE = `{"id":"${EVENT_ID}","type":"transaction.paid"}`

const headers = z.record(z.string(), z.string())
const problemCode = z
  .enum(PROBLEM_CODES)
  .nullable()
  .meta(none('Code of that reason; null after a 2xx.'))
const problemParams = reasonParams.nullable().meta(none('Values in that reason; null after a 2xx.'))

const attemptFields = {
  problem: z.string().nullable().meta(none('Reason for a failure; null after a 2xx.')),
  problem_code: problemCode,
  problem_params: problemParams,
  address: z.string().nullable().meta(openApiMeta('IP address of the connection.', '203.0.113.20')),
  duration_ms: z.int().meta(openApiMeta('Duration, in milliseconds.', 86)),
  request_headers: headers.meta(openApiMeta('Headers that were sent.', { 'webhook-id': EVENT_ID })),
  request_body: z
    .string()
    .nullable()
    .meta(openApiMeta('Body that was sent. Null once it is pruned.', BODY_EXAMPLE)),
  response_headers: headers
    .nullable()
    .meta(
      openApiMeta('Headers that the receiver sent, or null.', { 'content-type': 'text/plain' }),
    ),
  response_body: z
    .string()
    .nullable()
    .meta(openApiMeta('Up to 8 KiB of the body that the receiver sent, or null.', 'ok')),
}
const responseStatus = z
  .int()
  .nullable()
  .meta(openApiMeta('Status that the receiver sent; null if none arrived.', 200))

export const TestResult = z
  .object({
    delivered: z.boolean().meta(openApiMeta('Whether the receiver responded with 2xx.', true)),
    passed: z
      .boolean()
      .optional()
      .meta(openApiMeta('Whether the receiver did right. Only with `check`.', true)),
    status: responseStatus,
    ...attemptFields,
  })
  .meta({ id: 'TestEventResult' })
export type TestResult = z.infer<typeof TestResult>
export const TestRead = z.object({ data: TestResult }).meta({ id: 'TestEventSent' })

const deliveryFields = {
  // Not `z.uuid()`: an endpoint's delivery id is an MD5 of two ids, without UUID version.
  id: z.guid().meta(openApiMeta('Id of the delivery.', DELIVERY_ID)),
  event_id: z.uuid().meta(openApiMeta('The `webhook-id` of every attempt.', EVENT_ID)),
  type: z.enum(EVENT_TYPES).meta(openApiMeta('Type of the event.', 'transaction.paid')),
  sequence: z.int().meta(openApiMeta('Number of the event in the feed.', 1)),
  subject_id: z
    .uuid()
    .meta(
      openApiMeta('Id of the transaction or withdrawal.', '01a1fbb6-bf1b-7d40-9b0e-5f0f2d1c88aa'),
    ),
  subject_reference: z
    .string()
    .nullable()
    .meta(openApiMeta('The `external_id` of the transaction or withdrawal.', 'order-1048')),
  endpoint_id: z
    .uuid()
    .nullable()
    .meta(
      openApiMeta(
        'Null for a delivery to the `webhook_url` of the transaction or withdrawal.',
        ENDPOINT_ID,
      ),
    ),
  url: z.string().meta(openApiMeta('URL to which the event is sent.', URL_EXAMPLE)),
  status: z.enum(DELIVERY_STATUSES).meta({
    id: 'WebhookDeliveryStatus',
    ...openApiMeta(
      '`pending`: it will be sent, or sent again. `paused`: its endpoint is disabled. `exhausted`: all attempts failed. `stopped`: it will not be sent.',
      'delivered',
    ),
  }),
  is_under_way: z
    .boolean()
    .meta(
      openApiMeta(
        'Whether it is being sent, or will be as soon as its receiver has a free connection.',
        false,
      ),
    ),
  attempt_count: z.int().meta(openApiMeta('Number of attempts so far.', 1)),
  last_response_status: responseStatus,
  last_problem: z.string().nullable().meta(none('Reason for the last failure; null after a 2xx.')),
  last_problem_code: problemCode,
  last_problem_params: problemParams,
  last_duration_ms: z
    .int()
    .nullable()
    .meta(openApiMeta('Duration of the last attempt, in milliseconds, or null.', 86)),
  next_attempt_at: instant.nullable().meta(none('Time of the next attempt, or null.')),
  delivered_at: instant
    .nullable()
    .meta(openApiMeta('Time of the delivery, or null.', '2026-11-21T01:36:10.842117Z')),
  created_at: instant.meta(openApiMeta('Time of creation.', '2026-11-21T01:36:10.611204Z')),
  updated_at: instant.meta(openApiMeta('Time of the last change.', '2026-11-21T01:36:10.842117Z')),
}
export const Delivery = z.object(deliveryFields).meta({ id: 'WebhookDelivery' })
export type Delivery = z.infer<typeof Delivery>

export const Attempt = z
  .object({
    number: z.int().meta(openApiMeta('Number of the attempt, from 1.', 1)),
    at: instant.meta(
      openApiMeta('Time at which the attempt ended.', '2026-11-21T01:36:10.842117Z'),
    ),
    response_status: responseStatus,
    ...attemptFields,
  })
  .meta({ id: 'DeliveryAttempt' })
export type Attempt = z.infer<typeof Attempt>

export const DeliveryPage = pageOf(Delivery).meta({ id: 'WebhookDeliveryPage' })
export type DeliveryPage = z.infer<typeof DeliveryPage>
export const DeliveryRead = z
  .object({
    data: z.object({
      ...deliveryFields,
      is_masked: z
        .boolean()
        .meta(
          openApiMeta(
            'Whether the attempts lack a payer’s CPF or CNPJ that was sent in full, their signatures and what the receiver responded.',
            false,
          ),
        ),
      attempts: z.array(Attempt).meta(openApiMeta('Oldest first.')),
      later_pauses_s: z
        .array(z.int())
        .meta(
          openApiMeta(
            'Pauses between the next attempt and the later ones, in seconds, while pending.',
            [],
          ),
        ),
    }),
  })
  .meta({ id: 'WebhookDeliveryRead' })
export type DeliveryDetail = z.infer<typeof DeliveryRead>['data']
export const DeliveryResent = z.object({ data: Delivery }).meta({ id: 'WebhookDeliveryResent' })
export const DeliveriesFailed = z.object({
  failed: z.int(),
})
export type DeliveriesFailed = z.infer<typeof DeliveriesFailed>
export const DeliveriesResent = z
  .object({
    resent: z.int().meta(openApiMeta('Number of deliveries that are sent again.', 37)),
    more: z
      .boolean()
      .meta(openApiMeta('Whether more deliveries remain: repeat the request.', false)),
  })
  .meta({ id: 'WebhookDeliveriesResent' })
export type DeliveriesResent = z.infer<typeof DeliveriesResent>
