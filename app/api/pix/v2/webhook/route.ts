import * as z from 'zod'
import { listWebhooks } from '#lib/api-pix/webhooks.ts'
import { webhooksQuery } from '#lib/api-pix/wire.ts'
import { merchantOf } from '#lib/http/api-pix.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'List the webhook by API Pix',
  scope: 'webhook.read',
  allow: 'webhooks:read',
  errorFormat: { invalid: 'WebhookConsultaInvalida' },
  query: webhooksQuery,
  response: z.looseObject({}),
  handle: call => listWebhooks(merchantOf(call), call.query),
})
