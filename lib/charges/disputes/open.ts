import { moveDisputed } from '#lib/charges/disputes/move.ts'
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
import type { Tx } from '#lib/db/client.ts'
import { transaction } from '#lib/db/client.ts'
import { wake } from '#lib/db/wake.ts'
import { openDisputeLedgers, readDisputes } from '#lib/ledger/owed.ts'

/**
 * Holds the disputed amount: from the available balance as far as it reaches; the account owes the rest,
 * which is held next of what comes in. Called twice, or after the end was reported, it does nothing. A
 * dispute of more than is left of the charge holds what is left, and goes to the differences unless the rest was
 * refunded. A dispute of no charge, or of one of which nothing is left, only goes to the differences: returns null.
 * A `note` that throws undoes the call.
 */
export async function openDispute(
  report: DisputeReport,
  note = noteDispute,
): Promise<DisputeRow | null> {
  const charge = await findDisputedCharge(report, 'open', note)
  if (!charge) return null
  await openDisputeLedgers(charge.accountId, charge.mode)
  const dispute = await transaction(async tx => {
    await lockDisputed(tx, charge)
    const dispute = await holdDispute(tx, report, charge)
    if (!dispute) await note(tx, 'dispute_unmatched', report, 'open')
    else if (
      dispute.chargeId !== charge.id ||
      !(await isAmountAgreed(tx, charge, report.amount, dispute))
    )
      await note(tx, 'dispute_contradicted', report, 'open', dispute)
    return dispute
  })
  wake('deliveries')
  return dispute
}

/**
 * Returns the dispute, which is held by this call or was reported before; null if nothing is left of the
 * charge. A refund of one cent must not keep the rest from being held. What the bank has returned for a dispute
 * before has left, and is not held. The caller has called lockDisputed.
 */
export async function holdDispute(
  tx: Tx,
  report: DisputeReport,
  charge: DisputedCharge,
): Promise<DisputeRow | null> {
  const { connectionId, bankId } = report
  const where = { connectionId_bankId: { connectionId, bankId } }
  const known = await tx.dispute.findUnique({ where })
  if (known) return known
  const { left, disputed, returned } = await readRemainder(tx, charge)
  const amount = Math.min(report.amount, left - disputed + returned)
  if (amount <= 0) return null
  const returnedAmount = Math.min(amount, returned)
  const data = { ...newDispute(report, charge, amount), status: 'open', returnedAmount }
  const dispute = await tx.dispute.create({ data })
  const { available } = await readDisputes(tx, charge.accountId, charge.mode)
  const held = Math.min(available, amount - returnedAmount)
  await moveDisputed(tx, 'dispute_held', dispute, BigInt(held))
  await moveDisputed(tx, 'dispute_owed', dispute, BigInt(amount - returnedAmount - held))
  await recordDisputeEvent(tx, 'transaction.dispute_opened', dispute)
  return dispute
}
