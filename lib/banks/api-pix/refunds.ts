import type { BankClient } from '#lib/banks/api-pix/client.ts'
import { bodyOf, isSuccess } from '#lib/banks/api-pix/json.ts'
import { judge, unknown } from '#lib/banks/api-pix/outcomes.ts'
import { type BankRefund, readRefund } from '#lib/banks/api-pix/read.ts'
import type { GatewayResult, OrderState, RefundOrder } from '#lib/banks/gateway.ts'
import { spiRefusal } from '#lib/banks/gateway.ts'
import { formatDecimalAmount } from '#lib/core/money.ts'

/** Sends a refund. If the bank has the id already, or refuses the refund, it is asked by the id. */
export async function sendRefund(
  client: BankClient,
  order: RefundOrder,
  signal: AbortSignal,
): Promise<GatewayResult<OrderState>> {
  const body = { valor: formatDecimalAmount(order.amount) }
  const reply = await client.call({ method: 'PUT', path: pathOf(order), body }, signal)
  if (isSuccess(reply)) return toState(readRefund(bodyOf(reply)), order)
  const verdict = judge(reply, 'refund', { id: order.id })
  if (verdict.outcome === 'none') return unknown('no refund')
  if (verdict.outcome !== 'ask') return verdict
  const found = await findRefund(client, order, signal)
  if (found.outcome !== 'ok') return unknown('the bank does not say what it has under the id')
  return found.value === null ? verdict.ifAbsent : toFoundState(found.value, order)
}

/** Returns the state of a refund, or null if the bank does not have it. */
export async function queryRefund(
  client: BankClient,
  refund: RefundOrder,
  signal: AbortSignal,
): Promise<GatewayResult<OrderState | null>> {
  const found = await findRefund(client, refund, signal)
  return found.outcome === 'ok' && found.value !== null
    ? toFoundState(found.value, refund)
    : asNull(found)
}

async function findRefund(
  client: BankClient,
  refund: RefundOrder,
  signal: AbortSignal,
): Promise<GatewayResult<BankRefund | null>> {
  const reply = await client.call({ method: 'GET', path: pathOf(refund) }, signal)
  if (isSuccess(reply)) return { outcome: 'ok', value: readRefund(bodyOf(reply)) }
  const verdict = judge(reply, 'question', { id: refund.id })
  if (verdict.outcome === 'none') return { outcome: 'ok', value: null }
  return verdict.outcome === 'ask' ? verdict.ifAbsent : verdict
}

function asNull(found: GatewayResult<BankRefund | null>): GatewayResult<null> {
  return found.outcome === 'ok' ? { outcome: 'ok', value: null } : found
}

/** A refund that was queried must have an amount. The response to an order may omit it. */
function toFoundState(refund: BankRefund, order: RefundOrder): GatewayResult<OrderState> {
  return refund.amount === null ? unknown('a refund without an amount') : toState(refund, order)
}

/** A new status is not final. */
function toState(
  { status, amount, returnId, reason }: BankRefund,
  order: RefundOrder,
): GatewayResult<OrderState> {
  if (status === null) return unknown('a refund without a status')
  if (amount !== null && amount !== order.amount) return unknown('a refund of another amount')
  if (status === 'NAO_REALIZADO') {
    const spiCode = /\b[A-Z]{2}\d{2}\b/.exec(reason ?? '')?.[0] ?? ''
    return { outcome: 'ok', value: { state: 'refused', ...spiRefusal(spiCode, reason) } }
  }
  if (status !== 'DEVOLVIDO')
    return { outcome: 'ok', value: { state: 'taken', ...(returnId && { endToEndId: returnId }) } }
  // Not every bank reports its id of the return. That of the order is as unique.
  return { outcome: 'ok', value: { state: 'done', endToEndId: returnId ?? order.id } }
}

function pathOf({ endToEndId, id }: RefundOrder): string {
  return `/pix/${encodeURIComponent(endToEndId)}/devolucao/${encodeURIComponent(id)}`
}
