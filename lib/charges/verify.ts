import type { Gateway } from '#lib/banks/gateway.ts'
import { withJournal } from '#lib/banks/journal.ts'
import { requestedPauseMs } from '#lib/banks/pauses.ts'
import { cancelOpening } from '#lib/charges/end-opening.ts'
import { endClaimedAsReported, logFailure } from '#lib/charges/end-reported.ts'
import {
  claimedSql,
  postponeCharges,
  postponeUnreached,
  RETRY_PAUSE_MS,
} from '#lib/charges/postpone.ts'
import { removeExpired } from '#lib/charges/remove.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import { runConcurrently } from '#lib/db/batch.ts'
import { type Claim, nowPlusMs } from '#lib/db/claim.ts'
import { db } from '#lib/db/client.ts'

/** Maximum charges of a batch removed concurrently. */
const CONCURRENCY_MAX = 8

/** Ends stuck openings, and removes expired charges at the bank, which until then may be paid. */
export function endOthers(gateway: Gateway, due: Claim[]): Promise<void> {
  return runConcurrently(due, CONCURRENCY_MAX, async claim => {
    const work = claim.status === 'opening' ? cancelOpening : removeExpired
    await work(gateway, claim).catch(error => logFailure(error, claim))
  })
}

/** Settles, closes or postpones pending charges as the bank reports. */
export async function queryAndEnd(gateway: Gateway, due: Claim[]): Promise<void> {
  const isTimeUp = await findTimeUp(due)
  const result = await withJournal(gateway, due).getCharges(
    due.map(claim => removeHyphens(claim.id)),
  )
  if (result.outcome !== 'ok') {
    const pauseMs = Math.max(RETRY_PAUSE_MS, requestedPauseMs(result))
    return postponeCharges(due, nowPlusMs(pauseMs))
  }
  const { states, unanswered, retryAfterMs } = result.value
  const unreached = new Set(unanswered.filter(txid => !states.has(txid)))
  const reached = due.filter(claim => !unreached.has(removeHyphens(claim.id)))
  const left = due.filter(claim => !reached.includes(claim))
  await postponeUnreached(left, reached.length > 0, retryAfterMs)
  await endClaimedAsReported(gateway, reached, { states, isTimeUp })
}

/** Returns which of the claimed charges have expired by the clock of the database. */
async function findTimeUp(due: Claim[]): Promise<(claim: Claim) => boolean> {
  const rows = await db().$queryRaw<{ id: string }[]>`
    SELECT c.id FROM charges c JOIN ${claimedSql(due)} USING (account_id, id)
    WHERE c.expires_at <= now()`
  const ids = new Set(rows.map(({ id }) => id))
  return ({ id }) => ids.has(id)
}
