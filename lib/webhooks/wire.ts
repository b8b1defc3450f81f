import * as z from 'zod'
import { instant, openApiMeta } from '#lib/core/fields.ts'
import { DISABLED_CODES } from '#lib/webhooks/disabled.ts'
import { EVENT_TYPES } from '#lib/webhooks/states.ts'

export const ENDPOINT_ID = '01a1fbc8-3d10-7a42-9e6b-2c4f8a1b7d30'
export const URL_EXAMPLE = 'https://shop.example/hooks/pix'
const SECRET_EXAMPLE = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw5kVbO3nT1xY='

/** Metadata of a field that is null in the example. */
export const none = (description: string) => openApiMeta(description, null)

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
