import { definedOf, type Merchant, requireOwnKey, violation } from '#lib/api-pix/charges.ts'
import { toTime, type WebhooksQuery } from '#lib/api-pix/wire.ts'
import { parseDatabaseError, refuse } from '#lib/core/errors.ts'
import {
  createEndpoint,
  deleteEndpoint,
  editEndpoint,
  enableEndpoint,
  findApiPixEndpoint,
} from '#lib/webhooks/endpoints.ts'
import type { Owner } from '#lib/webhooks/owner.ts'
import type { EventType } from '#lib/webhooks/states.ts'

/** The standard has payments go to this path below the address of a webhook. */
const SUFFIX = '/pix'
/** A payment, and each of its refunds and returns when it ends. */
const EVENT_TYPES: EventType[] = [
  'transaction.paid',
  'transaction.refunded',
  'transaction.refund_failed',
  'transaction.returned',
]

/** Sends payments to the address from now on: to a new endpoint of the account, or to the one that it has. */
export async function putWebhook(
  merchant: Merchant,
  owner: Owner,
  chave: string,
  webhookUrl: string,
): Promise<void> {
  requireOwnKey(merchant, chave)
  const url = webhookUrl + SUFFIX
  const endpoint = await findApiPixEndpoint(merchant.id, merchant.mode)
  if (!endpoint) {
    const request = { url, event_types: EVENT_TYPES, full_documents: false, isApiPix: true }
    await createEndpoint(owner, request).catch(error => {
      // Another request has just created it.
      if (parseDatabaseError(error).constraint !== 'webhook_endpoints_api_pix_key') throw error
      return putWebhook(merchant, owner, chave, webhookUrl)
    })
    return
  }
  if (endpoint.url !== url) await editEndpoint(owner, endpoint.id, { url })
  if (endpoint.disabledAt) await enableEndpoint(owner, endpoint.id, true)
}

async function findOwn(merchant: Merchant, chave: string) {
  const isOwn = chave.toLowerCase() === merchant.key
  const endpoint = isOwn ? await findApiPixEndpoint(merchant.id, merchant.mode) : null
  if (!endpoint) throw refuse('endpoint_not_found')
  return endpoint
}

type StoredEndpoint = Awaited<ReturnType<typeof findOwn>>

function serializeWebhook({ url, createdAt }: StoredEndpoint, key: string) {
  const webhookUrl = url.endsWith(SUFFIX) ? url.slice(0, -SUFFIX.length) : url
  return { webhookUrl, chave: key, criacao: toTime(createdAt.toISOString()) }
}

export async function readWebhook(merchant: Merchant, chave: string) {
  return serializeWebhook(await findOwn(merchant, chave), merchant.key)
}

export async function deleteWebhook(merchant: Merchant, owner: Owner, chave: string) {
  const { id } = await findOwn(merchant, chave)
  await deleteEndpoint(owner, id)
}

/** Lists the webhook, if there is one and it was created in the period. */
export async function listWebhooks(merchant: Merchant, query: WebhooksQuery) {
  const { inicio, fim } = query
  if (inicio && fim && Date.parse(fim) < Date.parse(inicio))
    throw violation({ fim: 'fim deve ser igual ou posterior a inicio' })
  const endpoint = await findApiPixEndpoint(merchant.id, merchant.mode)
  const at = endpoint?.createdAt.getTime() ?? 0
  const isInPeriod = !(inicio && at < Date.parse(inicio)) && !(fim && at > Date.parse(fim))
  const webhooks = endpoint && isInPeriod ? [serializeWebhook(endpoint, merchant.key)] : []
  const page = query['paginacao.paginaAtual']
  const size = query['paginacao.itensPorPagina']
  const paginacao = {
    paginaAtual: page,
    itensPorPagina: size,
    quantidadeDePaginas: 1,
    quantidadeTotalDeItens: webhooks.length,
  }
  const parametros = { ...definedOf({ inicio, fim }), paginacao }
  return { parametros, webhooks: page === 0 ? webhooks : [] }
}
