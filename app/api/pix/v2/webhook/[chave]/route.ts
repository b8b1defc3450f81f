import * as z from 'zod'
import { deleteWebhook, putWebhook, readWebhook } from '#lib/api-pix/webhooks.ts'
import { webhookRequest } from '#lib/api-pix/wire.ts'
import { merchantOf } from '#lib/http/api-pix.ts'
import { webhookOwner } from '#lib/http/caller.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const PUT = endpoint({
  method: 'PUT',
  effect: 'receiver',
  summary: 'Send payments to an address by API Pix',
  scope: 'webhook.write',
  allow: 'webhooks:write',
  proof: 'required',
  errorFormat: { invalid: 'WebhookOperacaoInvalida', missing: 'WebhookNaoEncontrado' },
  body: webhookRequest,
  response: z.undefined(),
  handle: call =>
    putWebhook(merchantOf(call), webhookOwner(call), call.params.chave ?? '', call.body.webhookUrl),
})

export const GET = endpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'Read the webhook by API Pix',
  scope: 'webhook.read',
  allow: 'webhooks:read',
  errorFormat: { invalid: 'WebhookConsultaInvalida', missing: 'WebhookNaoEncontrado' },
  response: z.looseObject({}),
  handle: call => readWebhook(merchantOf(call), call.params.chave ?? ''),
})

export const DELETE = endpoint({
  method: 'DELETE',
  effect: 'none',
  summary: 'Remove the webhook by API Pix',
  scope: 'webhook.write',
  allow: 'webhooks:write',
  proof: { notRequired: 'It sends no data anywhere.' },
  errorFormat: { invalid: 'WebhookOperacaoInvalida', missing: 'WebhookNaoEncontrado' },
  successStatus: 204,
  response: z.undefined(),
  handle: call => deleteWebhook(merchantOf(call), webhookOwner(call), call.params.chave ?? ''),
})
