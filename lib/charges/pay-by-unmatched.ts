import type { ChargeRow } from '#lib/charges/schema.ts'
import { settleByUnmatched } from '#lib/charges/settle.ts'
import { invalidInput, refuse } from '#lib/core/errors.ts'
import { isUuid, removeHyphens } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import { currentCause } from '#lib/core/trace.ts'
import type { Tx } from '#lib/db/client.ts'
import { transaction } from '#lib/db/client.ts'
import { wake } from '#lib/db/wake.ts'
import {
  type Decision,
  lockUnmatched,
  releaseUnmatched,
  resolveItem,
  type UnmatchedPayment,
} from '#lib/differences/resolve.ts'
import { lockBooks } from '#lib/ledger/owed.ts'

/**
 * Pays a charge with money that is unmatched, as if it had been received with the charge's txid: status,
 * balance, event. One transaction, so that the books of the operator and of the merchant both change or
 * neither. Of two attempts one is refused: the item or the charge is final.
 */
export async function payByUnmatched(decision: Decision, chargeId: string): Promise<ChargeRow> {
  const row = await transaction(async tx => {
    const payment = await lockUnmatched(tx, decision.itemId, 'match')
    const { accountId } = await lockPayable(tx, chargeId, payment)
    const { id, mode, amount } = payment
    await lockBooks(tx, accountId, mode)
    const [paid] = await settleByUnmatched(tx, {
      ...{ ...payment, accountId, chargeId },
      trace: currentCause(),
    })
    if (!paid) throw new Invariant(`charge ${chargeId} was locked but could not be paid`)
    await releaseUnmatched(tx, id, 'match', { accountId, chargeId })
    const values = { accountId, mode, amount, transaction_id: chargeId }
    await resolveItem(tx, decision, 'match', values)
    return paid
  })
  wake('deliveries')
  return row
}

/**
 * Locks the charge. Its amount and connection must be those of the payment: a later refund is a return of
 * this payment, at this bank and of at most its amount.
 */
async function lockPayable(
  tx: Tx,
  chargeId: string,
  { mode, connectionId, amount }: UnmatchedPayment,
) {
  // A charge's txid is unique without its account, and is its id without hyphens.
  const txid = isUuid(chargeId) ? removeHyphens(chargeId) : ''
  const [charge] = await tx.$queryRaw<
    { accountId: string; status: string; amount: bigint; connectionId: string }[]
  >`
    SELECT account_id AS "accountId", status, amount, connection_id AS "connectionId" FROM charges
    WHERE txid = ${txid} AND mode = ${mode} AND status <> 'opening' FOR UPDATE`
  if (!charge) throw refuse('transaction_not_found')
  if (charge.status === 'paid')
    throw refuse('already_final', { subject: 'Transaction', status: 'paid' })
  if (charge.connectionId !== connectionId)
    throw invalidInput('transaction_id', 'must be of the connection that received the payment')
  if (charge.amount !== BigInt(amount))
    throw invalidInput('transaction_id', `must have the amount of the payment, ${amount}`)
  return charge
}
