import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { loseDispute, winDispute } from '#lib/charges/disputes/close.ts'
import { openDispute } from '#lib/charges/disputes/open.ts'
import { type noteDispute, readRemainder } from '#lib/charges/disputes/queries.ts'
import { findDispute } from '#lib/charges/disputes/records.ts'
import type { DisputeEnd } from '#lib/charges/disputes/schema.ts'
import type { DisputeDetail } from '#lib/charges/disputes/wire.ts'
import { findAddressed } from '#lib/charges/queries.ts'
import { invalidInput, refuse } from '#lib/core/errors.ts'
import { isUuid, newRoutableId } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import { db } from '#lib/db/client.ts'

const connectionId = SIMULATOR_CONNECTION_ID

/**
 * Opens a dispute as a bank reports one. What would go to the operator's differences is refused.
 * Called twice with a bank's id, the second call returns the dispute.
 */
export async function simulateDispute(
  accountId: string,
  idOrReference: string,
  requested: number | undefined,
  bankId: string = newRoutableId(accountId),
): Promise<DisputeDetail> {
  const charge = await findAddressed(accountId, 'test', idOrReference)
  if (charge.status !== 'paid' || !charge.end_to_end_id) throw refuse('not_paid')
  const where = { connectionId_bankId: { connectionId, bankId } }
  const known = await db().dispute.findUnique({ where })
  if (known) return readDetail(accountId, known.id)
  const remainder = await readRemainder(db(), { accountId, id: charge.id })
  const left = remainder.left - remainder.disputed
  const amount = requested ?? left
  if (amount > left || left <= 0)
    throw invalidInput('amount', `must be at most ${left}, what is left of the charge`)
  const report = { connectionId, bankId, endToEndId: charge.end_to_end_id, amount }
  const dispute = await openDispute(report, refuseNote)
  if (!dispute) throw new Invariant(`charge ${charge.id} was not disputed`)
  return readDetail(accountId, dispute.id)
}

/** Ends an open dispute as a bank reports it. `isResumed`: an earlier process may already have ended it. */
export async function simulateDisputeEnd(
  accountId: string,
  id: string,
  { outcome, amount }: DisputeEnd,
  isResumed = false,
): Promise<DisputeDetail> {
  const stored = isUuid(id)
    ? await db().dispute.findFirst({ where: { accountId, id, mode: 'test' } })
    : null
  if (!stored) throw refuse('dispute_not_found')
  if (isResumed && stored.status === outcome) return readDetail(accountId, id)
  if (stored.status !== 'open')
    throw refuse('already_final', { subject: 'Dispute', status: stored.status })
  const disputed = Number(stored.amount)
  if (amount !== undefined && (outcome === 'won' || amount > disputed))
    throw invalidInput(
      'amount',
      `must be left out unless the outcome is lost, and be at most ${disputed}`,
    )
  const charge = await findAddressed(accountId, 'test', stored.chargeId)
  if (!charge.end_to_end_id)
    throw new Invariant(`charge ${charge.id} is disputed but has no payment`)
  const { bankId } = stored
  const report = { connectionId, bankId, endToEndId: charge.end_to_end_id }
  const end = outcome === 'won' ? winDispute : loseDispute
  await end({ ...report, amount: amount ?? disputed }, refuseNote)
  return readDetail(accountId, id)
}

/** A refund or another dispute has taken what was left, or the dispute was ended, since it was checked. */
const refuseNote: typeof noteDispute = (_tx, _kind, _report, status, stored) => {
  if (status === 'open') throw invalidInput('amount', 'must be at most what is left of the charge')
  throw refuse('already_final', { subject: 'Dispute', status: stored?.status ?? 'closed' })
}

async function readDetail(accountId: string, id: string): Promise<DisputeDetail> {
  const dispute = await findDispute(accountId, 'test', id)
  if (!dispute) throw new Invariant(`dispute ${id} was stored but is missing`)
  return dispute
}
