import type { Claim } from '#lib/base/db/claim.ts'
import { db, Prisma } from '#lib/base/db/client.ts'
import { removeHyphens } from '#lib/base/ids.ts'
import { log } from '#lib/base/log.ts'
import { nextRemovalAt, postponeCharges } from '#lib/rooms/charges/postpone.ts'
import { settleCharges } from '#lib/rooms/charges/settle.ts'
import type { ChargeState, Gateway } from '#lib/services/gateway/gateway.ts'
import { type Subject, withJournal } from '#lib/services/gateway/journal.ts'

export type PaidState = Extract<ChargeState, { state: 'paid' }>

/** `absent`: the bank has no such charge, so far. */
type Removal = 'gone' | 'absent' | PaidState | null

/**
 * Removes an expired charge at the bank, where it could still be paid, or credits its payment. Asks
 * again, for a week, until the bank has confirmed one of them.
 */
export async function removeExpired(gateway: Gateway, claim: Claim): Promise<void> {
  const removed = await removeAtBank(gateway, claim)
  if (removed === 'gone' || removed === 'absent') return postponeCharges([claim], Prisma.sql`NULL`)
  if (removed !== null) {
    await settleCharges([{ ...claim, ...removed, chargeId: claim.id }])
    return
  }
  await postponeCharges([claim], nextRemovalAt())
  const where = { accountId: claim.accountId, id: claim.id, status: 'expired', dueAt: null }
  if ((await db().charge.count({ where })) > 0)
    log().error({ chargeId: claim.id }, 'expired charge could not be removed at the bank')
}

/**
 * Makes a charge unpayable at the bank. Returns 'gone' if the bank confirms that it can't be paid any
 * more, its payment if it was paid, and null if the bank must be asked again.
 */
export async function removeAtBank(gateway: Gateway, subject: Subject): Promise<Removal> {
  const txid = removeHyphens(subject.id)
  const bank = withJournal(gateway, [subject])
  const removal = await bank.cancelCharge(txid)
  if (removal.outcome === 'ok') return readRemoval(removal.value)
  if (removal.outcome !== 'rejected') return null
  // The bank refuses to remove a charge that was paid, and one that it does not have.
  const answers = await bank.getCharges([txid])
  if (answers.outcome !== 'ok' || answers.value.unanswered.includes(txid)) return null
  return readRemoval(answers.value.states.get(txid) ?? null)
}

function readRemoval(chargeState: ChargeState | null): Removal {
  if (chargeState === null) return 'absent'
  if (chargeState.state === 'open') return null
  return chargeState.state === 'paid' ? chargeState : 'gone'
}
