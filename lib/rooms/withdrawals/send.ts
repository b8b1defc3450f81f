import { type Claim, postpone } from '#lib/base/db/claim.ts'
import { noteContradiction } from '#lib/rooms/withdrawals/contradiction.ts'
import {
  askLater,
  claimPayouts,
  holdBack,
  holdPlace,
  isPlaced,
  isPlaceOver,
  releasePlace,
  slowDown,
} from '#lib/rooms/withdrawals/places.ts'
import {
  findHidden,
  findPayoutOrder,
  findSentOrder,
  hasPayment,
} from '#lib/rooms/withdrawals/queries.ts'
import { recordTaken } from '#lib/rooms/withdrawals/record-taken.ts'
import { settleAsReported } from '#lib/rooms/withdrawals/report.ts'
import type { Gateway } from '#lib/services/gateway/gateway.ts'
import { orderRetryPauseMs, type Placement, placeOrder } from '#lib/services/gateway/order.ts'
import { createOrderSender, type OrderSender } from '#lib/services/gateway/order-sender.ts'

/** Withdrawals of an inactive account are sent at most this long after its activation. */
const INACTIVE_RETRY_MS = 15_000
/** While people decide how a withdrawal ends, the bank is asked about it, but it is not sent again. */
const PROPOSED_RETRY_MS = 10 * 60_000

/**
 * Sends due withdrawals, each under its own id, and queries those that the bank has not settled. A
 * lost response never rejects a withdrawal.
 */
export function createWithdrawalSender(onCapacity?: () => void): OrderSender {
  const send = (claim: Claim, gateway: Gateway) => sendOrAsk(claim, gateway, true)
  const ask = (claim: Claim, gateway: Gateway) => sendOrAsk(claim, gateway, false)
  const placed = { claimWaiting: claimPayouts, isPlaced, ask }
  return createOrderSender('withdrawal', send, onCapacity, placed)
}

const NEEDS_PLACE = { outcome: 'retryable', reason: 'waits for another place' } as const

/** `isSending`: the claim has a place in which the withdrawal was not sent yet. */
async function sendOrAsk(claim: Claim, gateway: Gateway, isSending: boolean): Promise<void> {
  const { accountId, id, lease } = claim
  const placement = await callBank(claim, gateway, isSending)
  if (placement.state === 'done' || placement.state === 'refused') {
    const row = await settleAsReported(accountId, id, placement, lease)
    if (!row) await noteContradiction(accountId, id, placement.state)
    return
  }
  if (placement.state === 'taken') await recordTaken(claim, placement)
  const pauseMs = orderRetryPauseMs(claim, placement)
  if (gateway.local) return void (await postpone('withdrawals', claim, pauseMs))
  if (placement.state !== 'unsent')
    return askLater(claim, placement.state === 'unknown' ? placement.pauseMs : 0)
  await releasePlace(claim, pauseMs)
  if (placement.isRateLimit) await slowDown(claim, gateway, placement.pauseMs || pauseMs)
}

function callBank(claim: Claim, gateway: Gateway, isSending: boolean): Promise<Placement> {
  return placeOrder('withdrawal', claim, gateway, {
    query: async bank => bank.getPayout(await findSentOrder(claim)),
    mayCall: gateway.local ? undefined : () => holdPlace(claim),
    async send(bank) {
      // Sent again in the same place, a payout that the bank never has would keep it from all others.
      if (!isSending) return (await isPlaceOver(claim)) ? NEEDS_PLACE : null
      const payout = await findPayoutOrder(claim)
      if (!payout) return null
      const { order, isActive, isEndProposed } = payout
      if (isActive && !isEndProposed) return bank.sendPayout(order)
      await holdBack(claim, gateway, isEndProposed ? PROPOSED_RETRY_MS : INACTIVE_RETRY_MS)
      return null
    },
    hasPayment: () => hasPayment(claim),
    findHidden: () => findHidden(claim),
  })
}
