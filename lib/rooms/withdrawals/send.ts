import { type Claim, postpone } from '#lib/base/db/claim.ts'
import { db } from '#lib/base/db/client.ts'
import { removeHyphens } from '#lib/base/ids.ts'
import { findPayout } from '#lib/rooms/withdrawals/queries.ts'
import { settleAsSaid } from '#lib/rooms/withdrawals/settle.ts'
import { gatewayOf } from '#lib/services/gateway/choose.ts'
import type { Gateway, OrderState } from '#lib/services/gateway/gateway.ts'
import { withJournal } from '#lib/services/gateway/journal.ts'
import { orderRetryPauseMs, placeOrder, sendDueOrders } from '#lib/services/gateway/order.ts'

/** Pause of an inactive account's withdrawals: the longest wait after its activation. */
const WAITS_S = 15

/**
 * Sends due withdrawals, each under its own id, and queries those the bank has not settled. A lost
 * response never rejects one. Returns how many were due.
 */
export function sendDueWithdrawals(choose = gatewayOf): Promise<number> {
  return sendDueOrders('withdrawal', held => sendOne(held, choose))
}

async function sendOne(held: Claim, choose: typeof gatewayOf): Promise<void> {
  const { accountId, id, lease } = held
  const said = await askBank(held, choose(held.mode))
  if (said && said.state !== 'taken') await settleAsSaid(accountId, id, said, lease)
  else await postpone('withdrawals', held, orderRetryPauseMs(held.attempts))
}

function askBank(held: Claim, gateway: Gateway): Promise<OrderState | null> {
  const bank = withJournal(gateway, [held])
  return placeOrder(held, {
    query: () => bank.getPayout(removeHyphens(held.id)),
    async send() {
      const payout = await findPayout(held)
      if (!payout) return null
      if (payout.mayBeSent) return bank.sendPayout(payout.order)
      await waitForAccount(held)
      return null
    },
  })
}

/** Postpones without counting an attempt: retries must be frequent after activation. */
async function waitForAccount({ accountId, id, lease }: Claim): Promise<void> {
  await db().$executeRaw`
    UPDATE withdrawals SET due_at = now() + make_interval(secs => ${WAITS_S}::int), lease = NULL,
      attempts = attempts - 1
    WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid AND lease = ${lease}::uuid`
}
