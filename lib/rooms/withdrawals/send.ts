import { type Claim, postpone } from '#lib/base/db/claim.ts'
import { db } from '#lib/base/db/client.ts'
import { bareId } from '#lib/base/ids.ts'
import { findPayout } from '#lib/rooms/withdrawals/queries.ts'
import { settleAsSaid } from '#lib/rooms/withdrawals/settle.ts'
import { gatewayOf } from '#lib/services/gateway/choose.ts'
import type { Gateway, OrderState } from '#lib/services/gateway/gateway.ts'
import { journaled } from '#lib/services/gateway/journal.ts'
import { askAgainInMs, placeOrder, sendDue } from '#lib/services/gateway/order.ts'

/** How soon after its activation an account's waiting withdrawals are sent. */
const WAITS_S = 15

/**
 * Sends withdrawals that are due, each under its own id, and asks again about those that the bank
 * has not settled. Nothing is rejected because an answer got lost. Returns how many were due.
 */
export function sendDueWithdrawals(choose = gatewayOf): Promise<number> {
  return sendDue('withdrawal', held => sendOne(held, choose))
}

async function sendOne(held: Claim, choose: typeof gatewayOf): Promise<void> {
  const { accountId, id, lease } = held
  const said = await askBank(held, choose(held.mode))
  if (said && said.state !== 'taken') await settleAsSaid(accountId, id, said, lease)
  else await postpone('withdrawals', held, askAgainInMs(held.attempts))
}

function askBank(held: Claim, gateway: Gateway): Promise<OrderState | null> {
  const bank = journaled(gateway, [held])
  return placeOrder(held, {
    ask: () => bank.getPayout(bareId(held.id)),
    async send() {
      const payout = await findPayout(held)
      if (!payout) return null
      if (payout.mayBeSent) return bank.sendPayout(payout.order)
      await waitForAccount(held)
      return null
    },
  })
}

/** Gives it back as if it had not been tried, so that the pauses are short when it is sent at last. */
async function waitForAccount({ accountId, id, lease }: Claim): Promise<void> {
  await db().$executeRaw`
    UPDATE withdrawals SET due_at = now() + make_interval(secs => ${WAITS_S}::int), lease = NULL,
      attempts = attempts - 1
    WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid AND lease = ${lease}::uuid`
}
