import { type Claim, claim, postpone } from '#lib/db/claim.ts'
import { gatewayOf } from '#lib/gateway/choose.ts'
import type { Answer, OrderState } from '#lib/gateway/gateway.ts'
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
  const answer = await askBank(held)
  if (answer.outcome === 'ok' && answer.value.state !== 'taken') {
    await settleAsSaid(held.accountId, held.id, answer.value)
    return
  }
  if (answer.outcome === 'rejected') {
    await settleAsSaid(held.accountId, held.id, { state: 'refused', reason: answer.reason })
    return
  }
  await postpone('withdrawals', held, ASK_AGAIN_MS)
}

/** The bank takes one id once: sending it again only asks what became of it. */
async function askBank(held: Claim): Promise<Answer<OrderState>> {
  const gateway = gatewayOf(held.mode)
  if (held.attempts > 1) {
    const known = await gateway.getPayout(bareId(held.id))
    if (known.outcome !== 'ok') return known
    if (known.value) return { outcome: 'ok', value: known.value }
  }
  return gateway.sendPayout(await findPayout(held.accountId, held.id))
}
