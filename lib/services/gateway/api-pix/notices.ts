import type { BankClient } from '#lib/services/gateway/api-pix/client.ts'
import { fieldsOf, listOf, parseJson, textOf } from '#lib/services/gateway/api-pix/json.ts'
import { judge, unknown } from '#lib/services/gateway/api-pix/outcomes.ts'
import { isStatusOk } from '#lib/services/gateway/api-pix/reply.ts'
import type { GatewayNotification, GatewayResult } from '#lib/services/gateway/gateway.ts'

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
    const verdict = judge(reply, 'question')
    return verdict.outcome === 'none' || verdict.outcome === 'ask' ? unknown('no key') : verdict
  }
  return { outcome: 'ok', value: null }
}

/** Parses a notice: `{"pix": […]}`, or the bare array that some banks send. Never throws. */
export function parseNotice(body: string): GatewayNotification[] {
  const parsed = parseJson(body)
  const list = Array.isArray(parsed) ? parsed : listOf(fieldsOf(parsed).pix)
  return list.map(fieldsOf).flatMap(({ txid, devolucoes }) => {
    const charge = textOf(txid)
    const refunds = listOf(devolucoes).map(each => textOf(fieldsOf(each).id))
    return [
      ...(charge === null ? [] : [{ kind: 'charge', id: charge } as const]),
      ...refunds.filter(id => id !== null).map(id => ({ kind: 'refund', id }) as const),
    ]
  })
}
