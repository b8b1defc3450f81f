import { type Claim, postpone } from '#lib/base/db/claim.ts'
import { db } from '#lib/base/db/client.ts'
import { removeHyphens } from '#lib/base/ids.ts'
import { noteContradiction } from '#lib/rooms/withdrawals/contradiction.ts'
import { findHidden, findPayoutOrder, hasPayment } from '#lib/rooms/withdrawals/queries.ts'
import { recordTaken } from '#lib/rooms/withdrawals/record-taken.ts'
import { settleAsReported } from '#lib/rooms/withdrawals/report.ts'
import type { Gateway } from '#lib/services/gateway/gateway.ts'
import { orderRetryPauseMs, type Placement, placeOrder } from '#lib/services/gateway/order.ts'
import { createOrderSender, type OrderSender } from '#lib/services/gateway/order-sender.ts'

/** Withdrawals of an inactive account are sent at most this long after its activation. */
const INACTIVE_RETRY_S = 15

/**
 * Sends due withdrawals, each under its own id, and queries those that the bank has not settled. A
 * lost response never rejects a withdrawal.
 */
export function createWithdrawalSender(onCapacity?: () => void): OrderSender {
  return createOrderSender('withdrawal', sendWithdrawal, onCapacity)
}

async function sendWithdrawal(claim: Claim, gateway: Gateway): Promise<void> {
  const { accountId, id, lease } = claim
  const placement = await callBank(claim, gateway)
  if (placement.state === 'done' || placement.state === 'refused') {
    const row = await settleAsReported(accountId, id, placement, lease)
    if (!row) await noteContradiction(accountId, id, placement.state)
    return
  }
  if (placement.state === 'taken') await recordTaken(claim, placement)
  await postpone('withdrawals', claim, orderRetryPauseMs(claim, placement))
}

function callBank(claim: Claim, gateway: Gateway): Promise<Placement> {
  return placeOrder('withdrawal', claim, gateway, {
    query: bank => bank.getPayout(removeHyphens(claim.id)),
    async send(bank) {
      const payout = await findPayoutOrder(claim)
      if (!payout) return null
      if (payout.mayBeSent) return bank.sendPayout(payout.order)
      await postponeUntilActive(claim)
      return null
    },
    hasPayment: () => hasPayment(claim),
    findHidden: () => findHidden(claim),
  })
}

/** Counts no attempt, so that retries stay frequent after the activation. */
async function postponeUntilActive({ accountId, id, lease }: Claim): Promise<void> {
  await db().$executeRaw`
    UPDATE withdrawals SET due_at = now() + make_interval(secs => ${INACTIVE_RETRY_S}::int), lease = NULL,
      attempts = attempts - 1
    WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid AND lease = ${lease}::uuid`
}
