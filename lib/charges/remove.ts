import type { ChargeState, Gateway, GatewayResult } from '#lib/banks/gateway.ts'
import { withJournal } from '#lib/banks/journal.ts'
import { requestedPauseMs } from '#lib/banks/pauses.ts'
import type { Subject } from '#lib/banks/record-call.ts'
import { callTimeoutMs } from '#lib/banks/record-call.ts'
import { nextRemovalAt, postponeCharges } from '#lib/charges/postpone.ts'
import { receivePayments } from '#lib/charges/receive.ts'
import { newRoutableId, OPERATOR_ACCOUNT_ID, removeHyphens } from '#lib/core/ids.ts'
import type { Claim } from '#lib/db/claim.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { insertItemsSql } from '#lib/differences/differences.ts'

export type PaidState = Extract<ChargeState, { state: 'paid' }>

/** absent: the bank has no such charge, so far. unconfirmed: it must be asked again, after `pauseMs`. */
type Removal = { state: 'gone' | 'absent' } | PaidState | UnconfirmedRemoval

/** `isAsked`: the bank may have received the request. */
type UnconfirmedRemoval = { state: 'unconfirmed'; pauseMs: number; isAsked: boolean }

/**
 * Removes an expired charge at the bank, where it could still be paid, or credits its payment. Asks
 * again, for a week, until the bank has confirmed one of them; after that, staff must ask.
 */
export async function removeExpired(gateway: Gateway, claim: Claim): Promise<void> {
  const removal = await removeAtBank(gateway, claim)
  if (removal.state === 'paid') {
    const [credited] = await receivePayments([{ ...claim, ...removal, chargeId: claim.id }])
    // After a payment of another amount, one of the right amount may follow.
    if (!credited) await postponeCharges([claim], nextRemovalAt({ pauseMs: 0, isAsked: true }))
    return
  }
  if (removal.state !== 'unconfirmed') return postponeCharges([claim], Prisma.sql`NULL`)
  const nextAt = nextRemovalAt(removal)
  // Before the charge is released: after a crash between the two, the worker asks once more.
  await noteIfLast(claim, nextAt)
  await postponeCharges([claim], nextAt)
}

/** Reports a charge to staff that the bank is not asked about again, though it may still be paid there. */
async function noteIfLast({ accountId, id, lease }: Claim, nextAt: Prisma.Sql): Promise<void> {
  await db().$executeRaw`
    WITH source AS (
      SELECT ${newRoutableId(OPERATOR_ACCOUNT_ID)}::uuid AS item_id, c.connection_id,
        'removal_unconfirmed' AS kind, c.txid AS key, json_build_object('account_id', c.account_id,
          'transaction_id', c.id, 'mode', c.mode, 'txid', c.txid, 'amount', c.amount) AS facts
      FROM charges c
      WHERE c.account_id = ${accountId}::uuid AND c.id = ${id}::uuid AND c.lease = ${lease}::uuid
        AND c.status = 'expired' AND ${nextAt} IS NULL
    ) ${insertItemsSql('source')}`
}

/** Makes a charge unpayable at the bank, unless it was paid. `callsMaxMs`: limit while a caller waits. */
export async function removeAtBank(
  gateway: Gateway,
  subject: Subject,
  callsMaxMs?: number,
): Promise<Removal> {
  const txid = removeHyphens(subject.id)
  const deadline = callsMaxMs && performance.now() + callsMaxMs
  const bank = () =>
    withJournal(gateway, [subject], deadline ? { timeoutMs: callTimeoutMs(deadline) } : {})
  const removal = await bank().cancelCharge(txid)
  if (removal.outcome === 'ok') return readRemoval(removal.value)
  if (removal.outcome !== 'rejected') return unconfirmed(removal)
  // The bank refuses to remove a charge that was paid, and one that it does not have.
  const answers = await bank().getCharges([txid])
  const isAnswered = answers.outcome === 'ok' && !answers.value.unanswered.includes(txid)
  return isAnswered ? readRemoval(answers.value.states.get(txid) ?? null) : unconfirmed(answers)
}

function readRemoval(chargeState: ChargeState | null): Removal {
  if (chargeState === null) return { state: 'absent' }
  const isUnread = chargeState.state === 'paid' && chargeState.payments.length === 0
  if (chargeState.state === 'open' || isUnread)
    return { state: 'unconfirmed', pauseMs: 0, isAsked: true }
  return chargeState.state === 'paid' ? chargeState : { state: 'gone' }
}

function unconfirmed(result: GatewayResult<unknown>): Removal {
  const isAsked = result.outcome !== 'blocked' && result.outcome !== 'retryable'
  return { state: 'unconfirmed', pauseMs: requestedPauseMs(result), isAsked }
}
