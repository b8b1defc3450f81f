import { type Claim, claim, postpone } from '#lib/db/claim.ts'
import { gatewayOf } from '#lib/gateway/choose.ts'
import type { OrderState } from '#lib/gateway/gateway.ts'
import { bareId } from '#lib/ids.ts'
import { log } from '#lib/log.ts'
import { findPayout } from '#lib/withdrawals/queries.ts'
import { settleAsSaid } from '#lib/withdrawals/settle.ts'

const BATCH_MAX = 50
/** How long to wait for a bank that has taken an order, or could not be reached. */
const ASK_AGAIN_MS = 1_000

/**
 * Sends withdrawals that are due, each under its own id, and asks again about those that the bank
 * has not settled. Nothing is rejected because an answer got lost. Returns how many were due.
 */
export async function sendDueWithdrawals(): Promise<number> {
  const due = await claim('withdrawals', BATCH_MAX)
  for (const held of due) {
    // One that fails keeps its lease and comes back; the others must not wait for it.
    await sendOne(held).catch(error =>
      log().error({ err: error, withdrawalId: held.id }, 'a withdrawal could not be sent'),
    )
  }
  return due.length
}

async function sendOne(held: Claim): Promise<void> {
  const said = await askBank(held)
  if (said && said.state !== 'taken') await settleAsSaid(held.accountId, held.id, said)
  else await postpone('withdrawals', held, ASK_AGAIN_MS)
}

/** What the bank says of the order, which it takes once under one id; null: ask again later. */
async function askBank(held: Claim): Promise<OrderState | null> {
  const gateway = gatewayOf(held.mode)
  if (held.attempts > 1) {
    // A question that is refused says nothing of the order: the money may be on its way.
    const known = await gateway.getPayout(bareId(held.id))
    if (known.outcome !== 'ok') return null
    if (known.value) return known.value
  }
  const { order, mayBeSent } = await findPayout(held.accountId, held.id)
  if (!mayBeSent) return null
  const answer = await gateway.sendPayout(order)
  if (answer.outcome === 'rejected') return { state: 'refused', reason: answer.reason }
  return answer.outcome === 'ok' ? answer.value : null
}
