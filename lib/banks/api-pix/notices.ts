import type { BankClient } from '#lib/banks/api-pix/client.ts'
import {
  bodyOf,
  fieldsOf,
  isStatusOk,
  isSuccess,
  listOf,
  parseJson,
  textOf,
} from '#lib/banks/api-pix/json.ts'
import { judge, judgeQuestion } from '#lib/banks/api-pix/outcomes.ts'
import type { GatewayNotification, GatewayResult, KeyWebhook } from '#lib/banks/gateway.ts'

/** Registers the address for each key: a bank sends notices only about keys that have one. */
export async function registerNotices(
  client: BankClient,
  keys: string[],
  address: string,
  signal: AbortSignal,
  headers: Record<string, string> = {},
): Promise<GatewayResult<null>> {
  for (const key of keys) {
    const path = `/webhook/${encodeURIComponent(key)}`
    const body = { webhookUrl: address }
    const reply = await client.call({ method: 'PUT', path, body, headers }, signal)
    // Successes have no body at some banks.
    if (reply.kind === 'response' && isStatusOk(reply.status)) continue
    return judgeQuestion(reply, 'no key')
  }
  return { outcome: 'ok', value: null }
}

export async function listNoticeAddresses(
  client: BankClient,
  keys: string[],
  signal: AbortSignal,
): Promise<GatewayResult<KeyWebhook[]>> {
  const found: KeyWebhook[] = []
  for (const key of keys) {
    const path = `/webhook/${encodeURIComponent(key)}`
    const reply = await client.call({ method: 'GET', path }, signal)
    const isFound = isSuccess(reply)
    if (!isFound && judge(reply, 'question').outcome !== 'none')
      return judgeQuestion(reply, 'no key')
    const address = isFound ? textOf(fieldsOf(bodyOf(reply)).webhookUrl) : null
    found.push({ key, address })
  }
  return { outcome: 'ok', value: found }
}

/**
 * Parses a notice: `{"pix": […]}`, or the bare array that some banks send. Each payment names itself,
 * its charge and its refunds. Never throws.
 */
export function parseNotice(
  body: string,
  readEntry: (entry: unknown) => GatewayNotification[] = readNoticeEntry,
): GatewayNotification[] {
  const parsed = parseJson(body)
  const list = Array.isArray(parsed) ? parsed : listOf(fieldsOf(parsed).pix)
  return list.flatMap(entry => readEntry(entry))
}

export function readNoticeEntry(entry: unknown): GatewayNotification[] {
  const { txid, endToEndId, devolucoes } = fieldsOf(entry)
  const returned = listOf(devolucoes)
  return [
    ...named('charge', txid),
    ...named(returned.length > 0 ? 'payment_return' : 'payment', endToEndId),
    ...returned.flatMap(each => named('refund', fieldsOf(each).id)),
  ]
}

function named(kind: GatewayNotification['kind'], value: unknown): GatewayNotification[] {
  const id = textOf(value)
  return id === null ? [] : [{ kind, id }]
}
