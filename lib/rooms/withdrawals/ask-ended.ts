import { db, Prisma } from '#lib/base/db/client.ts'
import { log } from '#lib/base/log.ts'
import { noteContradiction } from '#lib/rooms/withdrawals/contradiction.ts'
import { findHidden, findSentOrder } from '#lib/rooms/withdrawals/queries.ts'
import { settleAsReported } from '#lib/rooms/withdrawals/report.ts'
import { nextAskAt } from '#lib/services/gateway/ask-again.ts'
import { gatewayOfConnection } from '#lib/services/gateway/choose.ts'
import { withJournal } from '#lib/services/gateway/journal.ts'

/** Few withdrawals are ended by people, and a bank that hangs must not hold the job for long. */
const BATCH_MAX = 5

interface EndedWithdrawal {
  accountId: string
  id: string
  mode: 'live'
  connectionId: string
}

/**
 * Asks the bank about withdrawals that people ended: after 1 min, 10 min, 1 h, then daily for 7 days. A
 * final answer ends the questions; one that contradicts the end is stored. Returns how many were due.
 */
export async function askAboutEnded(): Promise<number> {
  const due = await claimDue()
  // A failure must not stop the others; the withdrawal is due again at its next time.
  for (const withdrawal of due)
    await askAbout(withdrawal).catch(error =>
      log().error({ err: error, withdrawalId: withdrawal.id }, 'asking about an end failed'),
    )
  return due.length
}

/** The next time is stored before the call: of two workers, one asks. */
function claimDue(): Promise<EndedWithdrawal[]> {
  return db().$queryRaw<EndedWithdrawal[]>`
    UPDATE withdrawals SET end_ask_at = ${nextAskAt(Prisma.sql`ended_at`)}
    WHERE (account_id, id) IN (
      SELECT account_id, id FROM withdrawals WHERE end_ask_at <= now()
      ORDER BY end_ask_at LIMIT ${BATCH_MAX} FOR UPDATE SKIP LOCKED)
    RETURNING account_id AS "accountId", id, mode, connection_id AS "connectionId"`
}

async function askAbout(withdrawal: EndedWithdrawal): Promise<void> {
  const { accountId, id, connectionId } = withdrawal
  const gateway = await gatewayOfConnection(connectionId)
  const hidden = await findHidden(withdrawal)
  const bank = withJournal(gateway, [withdrawal], { hidden })
  const result = await bank.getPayout(await findSentOrder(withdrawal))
  if (result.outcome !== 'ok' || !result.value || result.value.state === 'taken') return
  // Settles nothing, because it has ended, but books what came back of it.
  await settleAsReported(accountId, id, result.value)
  if (await noteContradiction(accountId, id, result.value.state)) return
  await db().withdrawal.updateMany({ where: { accountId, id }, data: { endAskAt: null } })
}
