import { moveDisputed } from '#lib/charges/disputes/move.ts'
import { holdDispute } from '#lib/charges/disputes/open.ts'
import {
  type DisputedCharge,
  findDisputedCharge,
  isAmountAgreed,
  lockDisputed,
  newDispute,
  noteDispute,
  readRemainder,
} from '#lib/charges/disputes/queries.ts'
import { recordDisputeEvent } from '#lib/charges/disputes/records.ts'
import type { DisputeReport, DisputeRow } from '#lib/charges/disputes/schema.ts'
import { cents } from '#lib/core/money.ts'
import type { Tx } from '#lib/db/client.ts'
import { transaction } from '#lib/db/client.ts'
import { wake } from '#lib/db/wake.ts'
import { openDisputeLedgers } from '#lib/ledger/owed.ts'

type Outcome = 'won' | 'lost'

/**
 * Releases the disputed amount; what the account owes is repaid of it first. A dispute that was never
 * reported open moves nothing. Called twice, it does nothing. A dispute that was lost stays so: the
 * contradiction goes to the differences. A `note` that throws undoes the call.
 */
export function winDispute(report: DisputeReport, note = noteDispute): Promise<DisputeRow | null> {
  return closeDispute(report, 'won', note)
}

/**
 * Lets the reported amount leave the account and releases the rest of the disputed one; what was not held
 * is then a claim of the operator on it. A dispute that was never reported open is held before. Called
 * twice, it does nothing; after a won one, or for more than is disputed, the contradiction goes to the differences.
 */
export function loseDispute(report: DisputeReport, note = noteDispute): Promise<DisputeRow | null> {
  return closeDispute(report, 'lost', note)
}

async function closeDispute(
  report: DisputeReport,
  outcome: Outcome,
  note: typeof noteDispute,
): Promise<DisputeRow | null> {
  const charge = await findDisputedCharge(report, outcome, note)
  if (!charge) return null
  await openDisputeLedgers(charge.accountId, charge.mode)
  const dispute = await transaction(async tx => {
    await lockDisputed(tx, charge)
    if (outcome === 'won') await insertWon(tx, report, charge)
    const dispute = await holdDispute(tx, report, charge)
    if (!dispute) {
      await note(tx, 'dispute_unmatched', report, outcome)
      return null
    }
    const isOpen = dispute.status === 'open' && dispute.chargeId === charge.id
    const closed = isOpen ? await endDispute(tx, dispute, outcome, report.amount) : dispute
    const ended = { ...closed, amount: closed.lostAmount ?? closed.amount }
    const isAgreed = closed.status === outcome && closed.chargeId === charge.id
    if (!(isAgreed && (await isAmountAgreed(tx, charge, report.amount, ended))))
      await note(tx, 'dispute_contradicted', report, outcome, closed)
    return closed
  })
  wake('deliveries')
  return dispute
}

/** A dispute that the bank reports only when it is over, and that moved no money. */
async function insertWon(tx: Tx, report: DisputeReport, charge: DisputedCharge): Promise<void> {
  const data = { ...newDispute(report, charge, report.amount), status: 'won', closedAt: new Date() }
  const [won] = await tx.dispute.createManyAndReturn({ data, skipDuplicates: true })
  if (won) await recordDisputeEvent(tx, 'transaction.dispute_closed', won)
}

/**
 * Ends an open dispute; the caller has called lockDisputed. Of what is lost, that part leaves the account which
 * neither a return of the bank (lib/charges/returned.ts) nor a refund has taken.
 */
export async function endDispute(
  tx: Tx,
  dispute: DisputeRow,
  outcome: Outcome,
  reported: number,
): Promise<DisputeRow> {
  const { accountId, id } = dispute
  const [amount, returnedBefore] = [cents(dispute.amount), cents(dispute.returnedAmount)]
  const { left, returned } = await readRemainder(tx, { accountId, id: dispute.chargeId })
  const lost = outcome === 'won' ? 0 : Math.min(reported, amount)
  const leaving = Math.max(0, Math.min(lost - returnedBefore - returned, left))
  const closed = await tx.dispute.update({
    where: { accountId_id: { accountId, id }, status: 'open' },
    data: {
      ...{ status: outcome, closedAt: new Date(), lostAmount: lost || null },
      ...(lost > 0 && { returnedAmount: lost - leaving }),
    },
  })
  await moveDisputed(tx, 'dispute_lost', dispute, BigInt(leaving))
  await moveDisputed(tx, 'dispute_won', dispute, BigInt(amount - returnedBefore - leaving))
  await recordDisputeEvent(tx, 'transaction.dispute_closed', closed)
  return closed
}
