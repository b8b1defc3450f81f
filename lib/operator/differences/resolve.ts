import { invalidInput } from '#lib/core/errors.ts'
import { transaction } from '#lib/db/client.ts'
import {
  creditUnmatched,
  type Decision,
  lockItem,
  lockUnmatched,
  releaseUnmatched,
  resolveItem,
} from '#lib/differences/resolve.ts'
import { lockBooks } from '#lib/ledger/owed.ts'

/** Resolves an item that moves no money of the operator. */
export function acknowledgeItem(decision: Decision): Promise<void> {
  return transaction(async tx => {
    await lockItem(tx, decision.itemId, 'acknowledge')
    await resolveItem(tx, decision, 'acknowledge')
  })
}

/** Makes the money of an item the operator's own. */
export function keepUnmatched(decision: Decision): Promise<void> {
  return transaction(async tx => {
    const { id, mode, amount } = await lockUnmatched(tx, decision.itemId, 'keep')
    await releaseUnmatched(tx, id, 'keep')
    await resolveItem(tx, decision, 'keep', { mode, amount })
  })
}

/** Moves the money of an item to the balance of an account, in the books of both or of neither. */
export function creditAccount(decision: Decision, accountId: string): Promise<void> {
  return transaction(async tx => {
    const payment = await lockUnmatched(tx, decision.itemId, 'credit')
    const account = await tx.account.findUnique({ where: { id: accountId } })
    if (!account) throw invalidInput('account_id', 'must be the id of an account')
    const { id, mode, amount } = payment
    await lockBooks(tx, accountId, mode)
    await creditUnmatched(tx, accountId, payment)
    await releaseUnmatched(tx, id, 'credit', { accountId })
    await resolveItem(tx, decision, 'credit', { accountId, mode, amount })
  })
}
