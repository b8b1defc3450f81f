import { z } from 'zod'
import type { Bank } from './bank.ts'
import { selectPage } from './lists.ts'
import { announcePayout } from './payouts.ts'
import { announcePix } from './received.ts'
import type { Webhook } from './records.ts'
import { Refusal } from './refusal.ts'
import { type Call, type Reply, type Route, readBody, refuseValue } from './route.ts'

export const WEBHOOK_ROUTES: Route[] = [
  { method: 'PUT', path: '/v2/webhook/:chave', scope: 'webhook.write', handle: putWebhook },
  { method: 'GET', path: '/v2/webhook/:chave', scope: 'webhook.read', handle: readWebhook },
  { method: 'DELETE', path: '/v2/webhook/:chave', scope: 'webhook.write', handle: deleteWebhook },
  { method: 'GET', path: '/v2/webhook', scope: 'webhook.read', handle: listWebhooks },
  {
    method: 'POST',
    path: '/v2/gn/webhook/reenviar',
    scope: 'webhook.write',
    kind: 'efi',
    handle: resendNotices,
  },
]

const WEBHOOK_BODY = z.strictObject({ webhookUrl: z.url({ protocol: /^https$/ }) })
const RESEND_BODY = z.strictObject({
  tipo: z.enum(['PIX_RECEBIDO', 'PIX_ENVIADO', 'DEVOLUCAO_RECEBIDA', 'DEVOLUCAO_ENVIADA']),
  e2eids: z.array(z.string()).min(1).max(1000),
})

async function putWebhook(bank: Bank, { params, headers, body }: Call): Promise<Reply> {
  const { chave = '' } = params
  const { webhookUrl } = readBody(WEBHOOK_BODY, body, 'webhookInvalid')
  if (!bank.settings.keys.includes(chave))
    refuseValue('webhookInvalid', 'chave', 'The key does not belong to this account')
  const isEfi = bank.settings.kind === 'efi'
  if (isEfi) await tryReceiver(bank, webhookUrl, headers['x-skip-mtls-checking'] === 'true')
  const isNew = !bank.webhooks.has(chave)
  bank.webhooks.set(chave, { key: chave, url: webhookUrl, createdAt: bank.now() })
  return isEfi ? { status: isNew ? 201 : 200, body: { webhookUrl } } : { status: 200 }
}

/** Refuses a receiver that does not respond, or that also responds to a caller without certificate. */
async function tryReceiver(bank: Bank, url: string, skipsMtls: boolean): Promise<void> {
  const body = JSON.stringify({ evento: 'teste_webhook', data_criacao: bank.now().toISOString() })
  if (!skipsMtls && isTaken(await bank.notices.post(url, body, false)))
    throw new Refusal('webhookInvalid', 'The receiver accepts callers without a certificate')
  const status = await bank.notices.post(url, body)
  if (!isTaken(status))
    throw new Refusal('webhookInvalid', `The receiver responded with ${status ?? 'nothing'}`)
}

function isTaken(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300
}

function findWebhook(bank: Bank, { params }: Call): Webhook {
  const webhook = bank.webhooks.get(params.chave ?? '')
  if (!webhook) throw new Refusal('webhookNotFound', 'The key has no webhook')
  return webhook
}

function readWebhook(bank: Bank, call: Call): Reply {
  return { status: 200, body: renderWebhook(findWebhook(bank, call)) }
}

function deleteWebhook(bank: Bank, call: Call): Reply {
  bank.webhooks.delete(findWebhook(bank, call).key)
  return { status: 204 }
}

/** Lists all webhooks when the request has no times, which are optional here. */
function listWebhooks(bank: Bank, call: Call): Reply {
  const query = new URLSearchParams(call.query)
  if (!query.has('inicio')) query.set('inicio', new Date(0).toISOString())
  if (!query.has('fim')) query.set('fim', bank.now().toISOString())
  const { parametros, records } = selectPage(
    bank,
    { ...call, query },
    {
      records: [...bank.webhooks.values()],
      timeOf: ({ createdAt }) => createdAt,
      filters: {},
      refusal: 'webhookQueryInvalid',
    },
  )
  return { status: 200, body: { parametros, webhooks: records.map(renderWebhook) } }
}

function renderWebhook({ key, url, createdAt }: Webhook) {
  return { webhookUrl: url, chave: key, criacao: createdAt.toISOString() }
}

function resendNotices(bank: Bank, { body }: Call): Reply {
  const { tipo, e2eids } = readBody(RESEND_BODY, body, 'invalidRequest')
  if (tipo === 'PIX_RECEBIDO' || tipo === 'DEVOLUCAO_ENVIADA')
    for (const pix of e2eids.flatMap(id => bank.payments.get(id) ?? [])) announcePix(bank, pix)
  else
    for (const payout of bank.payouts.values())
      if (e2eids.includes(payout.e2eid)) announcePayout(bank, payout)
  return { status: 202 }
}
