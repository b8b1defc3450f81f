import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { invalidInput, refuse } from '#lib/core/errors.ts'
import { isUuid, newRoutableId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import { type Tx, transaction } from '#lib/db/client.ts'
import { bookOne } from '#lib/ledger/book.ts'
import { lockDisputes } from '#lib/ledger/owed.ts'

/**
 * Gives up the claim on an account, or a part of it: the operator pays. One transaction, so that the books of
 * both change or neither. Refuses more than is claimed. Returns the amount.
 */
export function writeOffClaim(
  accountId: string,
  mode: Mode,
  { amount, reason }: { amount?: number; reason: string },
  actor: Actor,
): Promise<number> {
  return transaction(async tx => {
    if (!isUuid(accountId)) throw refuse('account_not_found')
    const { claim } = await lockDisputes(tx, accountId, mode)
    if (claim === 0) throw refuse('not_found', 'The account owes nothing')
    const writtenOff = amount ?? claim
    if (writtenOff > claim) throw invalidInput('amount', `must be at most ${claim}, the claim`)
    const id = newRoutableId(accountId)
    const made = await insertWriteOff(tx, { accountId, id, mode, amount: writtenOff })
    for (const [account, movement] of [
      [accountId, 'owed_written_off'],
      [OPERATOR_ACCOUNT_ID, 'write_off_paid'],
    ] as const)
      await bookOne(tx, movement, { ...made, accountId: account })
    const action = 'account.claim_written_off'
    const after = { mode, amount: writtenOff }
    await recordAudit(tx, { actor, action, accountId, target: id, reason, after })
    return writtenOff
  })
}

/** Names the connection through which the account came to owe last: the operator pays there. */
async function insertWriteOff(
  tx: Tx,
  terms: { accountId: string; id: string; mode: Mode; amount: number },
) {
  const { accountId, mode } = terms
  const kind = { in: ['dispute_lost', 'payment_return_owed', 'correction_owed'] }
  const { connectionId } = await tx.ledgerTransfer.findFirstOrThrow({
    where: { accountId, mode, kind },
    orderBy: { createdAt: 'desc' },
  })
  if (connectionId === null) throw new Invariant(`a claim on ${accountId} names no connection`)
  return tx.writeOff.create({ data: { ...terms, connectionId } })
}
