import { endAsSaid } from '#lib/charges/close.ts'
import { findCharge } from '#lib/charges/queries.ts'
import type { ChargeOutcome, ChargeRow } from '#lib/charges/schema.ts'
import { TrocoError } from '#lib/errors.ts'
import { decideCharge } from '#lib/gateway/simulator.ts'
import { bareId } from '#lib/ids.ts'

/**
 * What a payer does at the simulated bank, test mode only. The bank's word is kept first, so a
 * crash before ours is made good when the charge falls due.
 */
export async function simulateCharge(
  accountId: string,
  idOrReference: string,
  outcome: ChargeOutcome,
): Promise<ChargeRow> {
  const charge = await findCharge(accountId, 'test', idOrReference)
  if (!charge) throw new TrocoError('transaction_not_found', 'Transaction not found')
  const mayChange = charge.status === 'pending' || (outcome === 'paid' && charge.status !== 'paid')
  if (!mayChange) throw alreadyFinal(charge.status)
  const said = await decideCharge(bareId(charge.id), charge.amount, outcome)
  const changed = await endAsSaid(accountId, charge.id, said)
  if (!changed) throw alreadyFinal('final')
  return changed
}

function alreadyFinal(status: string): TrocoError {
  return new TrocoError('already_final', `Transaction is already ${status}`)
}
