import { closeCharge } from '#lib/charges/close.ts'
import { findCharge } from '#lib/charges/queries.ts'
import type { ChargeOutcome, ChargeRow } from '#lib/charges/schema.ts'
import { settleCharges } from '#lib/charges/settle.ts'
import { TrocoError } from '#lib/errors.ts'
import { decideCharge } from '#lib/gateway/simulator.ts'
import { cents } from '#lib/money.ts'

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
  const txid = charge.id.replaceAll('-', '')
  const state = await decideCharge(txid, cents(charge.amount), outcome)
  const changed =
    state.state === 'paid'
      ? (await settleCharges([{ accountId, chargeId: charge.id, ...state }]))[0]
      : await closeCharge(accountId, charge.id, state.state === 'failed' ? 'failed' : 'expired')
  if (!changed) throw alreadyFinal('final')
  return changed
}

function alreadyFinal(status: string): TrocoError {
  return new TrocoError('already_final', `Transaction is already ${status}`)
}
