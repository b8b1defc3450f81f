import { type Claim, holdLease } from '#lib/base/db/claim.ts'
import { removeHyphens } from '#lib/base/ids.ts'
import { maskPixKey } from '#lib/base/pix/pix-key.ts'
import { placeOther, slowDownOther } from '#lib/rooms/withdrawals/places.ts'
import { TIMED_OUT } from '#lib/services/gateway/call.ts'
import type { ServedConnection } from '#lib/services/gateway/choose.ts'
import type { GatewayResult } from '#lib/services/gateway/gateway.ts'
import { hasCall, mayArrive } from '#lib/services/gateway/journal.ts'
import { type Placement, placeOrder } from '#lib/services/gateway/order.ts'
import { RESTS_REASON, redactText } from '#lib/services/gateway/record-call.ts'
import type { TryProblem } from '#lib/services/tries/problems.ts'
import type { ClaimedTry } from '#lib/services/tries/queries.ts'
import {
  completeTryOrder,
  holdTryPlace,
  orderTryPayout,
  rejectTryOrder,
  releaseTryPlace,
} from '#lib/services/tries/settle.ts'

const MINUTE_MS = 60_000
/** Time after which an order is given up that the bank has never taken. */
export const GIVE_UP_MS = 60 * MINUTE_MS
/** Pause while other payouts have all places, which end within 30 s. */
const PLACE_PAUSE_MS = 5_000

/** What waits: for how long, and why its calls did not succeed. Null: nothing. */
export type Wait = { pauseMs: number; problems?: TryProblem[] } | null

/** Pause before a question is repeated: a person waits at first. */
export function pauseAt(ageMs: number): number {
  return Math.min(5 * MINUTE_MS, Math.max(2_000, ageMs / 30))
}

/** `hidden`: replacements for private texts that the bank may repeat. */
export function describeFailure(
  result: GatewayResult<unknown> | null,
  hidden: Record<string, string> = {},
): TryProblem[] {
  if (result === null || result.outcome === 'ok') return []
  const reason = result.outcome === 'rejected' ? (result.bankText ?? result.code) : result.reason
  if (reason === RESTS_REASON) return [{ code: 'resting', params: {} }]
  if (result.outcome === 'blocked' && result.code === 'balance')
    return [{ code: 'no_balance', params: {} }]
  if (reason === TIMED_OUT.reason) return [{ code: 'timed_out', params: {} }]
  return [{ code: PROBLEM_CODES[result.outcome], params: { text: redactText(reason, hidden) } }]
}

const PROBLEM_CODES = {
  rejected: 'bank_says',
  blocked: 'bank_says',
  retryable: 'no_answer',
  unknown: 'no_answer',
} as const

/**
 * Sends the refund and the payout of a paid try, each under its own id, or asks about them. A lost response
 * never ends one. Returns what each waits for.
 */
export async function sendTryOrders(
  claim: Claim,
  found: ClaimedTry,
  served: ServedConnection,
): Promise<Wait[]> {
  return [await giveBack(claim, found, served), await payOut(claim, found, served)]
}

async function giveBack(
  claim: Claim,
  { refundId, refundStatus, endToEndId, amount, paidMs }: ClaimedTry,
  { gateway }: ServedConnection,
): Promise<Wait> {
  if (refundStatus !== 'pending' || endToEndId === null) return null
  const order = { id: removeHyphens(refundId), endToEndId, amount }
  const subject = await toSubject(claim, refundId, 'refundCharge')
  let problems: TryProblem[] = []
  const placement = await placeOrder('receipt_return', subject, gateway, {
    query: bank => bank.getRefund(order),
    mayCall: () => holdLease('bank_tries', claim),
    async send(bank) {
      const result = await bank.refundCharge(order)
      problems = describeFailure(result)
      return result
    },
    findHidden: async () => ({}),
  })
  const isSentLate = paidMs > GIVE_UP_MS && !(await mayArrive(subject, 'refundCharge'))
  return settle(claim, 'refund', placement, { paidMs, isSentLate, problems })
}

async function payOut(claim: Claim, found: ClaimedTry, served: ServedConnection): Promise<Wait> {
  const { pixKey, pixKeyType, payoutId, payoutStatus, isPaidBefore, paidMs, isPlaced } = found
  if (pixKey === null || pixKeyType === null || isPaidBefore) return null
  if (payoutStatus === null) {
    await orderTryPayout(claim)
    return { pauseMs: 0 }
  }
  if (payoutStatus !== 'pending') return null
  const order = { id: removeHyphens(payoutId), amount: found.payoutAmount, dictKey: pixKey }
  const subject = await toSubject(claim, payoutId, 'sendPayout')
  const place = {
    keyType: pixKeyType,
    hold: (tx, placeMs) => holdTryPlace(tx, claim, placeMs),
  } satisfies Parameters<typeof placeOther>[1]
  const hidden = { [pixKey]: maskPixKey(pixKeyType, pixKey) }
  let [problems, hasPlace]: [TryProblem[], boolean] = [[], isPlaced]
  const placement = await placeOrder('withdrawal', subject, served.gateway, {
    query: bank => bank.getPayout(order),
    async mayCall() {
      hasPlace = await placeOther(served, place)
      return hasPlace
    },
    async send(bank) {
      // It may still arrive from the call before.
      if (isPlaced) return null
      const result = await bank.sendPayout({ ...order, ownerDoc: null })
      problems = hasPlace ? describeFailure(result, hidden) : [{ code: 'no_place', params: {} }]
      return result
    },
    findHidden: async () => hidden,
  })
  if (placement.state === 'unsent') {
    if (!hasPlace) return { pauseMs: PLACE_PAUSE_MS, problems }
    await releaseTryPlace(claim)
    if (placement.isRateLimit) await slowDownOther(served, place, placement.pauseMs)
  }
  const isSentLate = paidMs > GIVE_UP_MS && !(await mayArrive(subject, 'sendPayout'))
  return settle(claim, 'payout', placement, { paidMs, isSentLate, problems })
}

/** The order as the journal knows it: each has its own id, and was called before or not. */
async function toSubject(
  claim: Claim,
  id: string,
  operation: 'refundCharge' | 'sendPayout',
): Promise<Claim> {
  const subject = { ...claim, id }
  return { ...subject, attempts: (await hasCall(subject, operation)) ? 2 : 1 }
}

async function settle(
  claim: Claim,
  order: 'refund' | 'payout',
  placement: Placement,
  { paidMs, isSentLate, problems }: { paidMs: number; isSentLate: boolean; problems: TryProblem[] },
): Promise<Wait> {
  if (placement.state === 'done') await completeTryOrder(claim, order, placement.endToEndId)
  else if (placement.state === 'refused')
    await rejectTryOrder(claim, order, placement.bankText ?? placement.code)
  else if (placement.state === 'unsent' && isSentLate)
    await rejectTryOrder(claim, order, 'not_sent')
  else {
    const askedMs = 'pauseMs' in placement ? placement.pauseMs : 0
    return { pauseMs: Math.max(askedMs, pauseAt(paidMs)), problems }
  }
  return null
}
