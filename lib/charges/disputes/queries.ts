import type { DisputeReport, DisputeRow } from '#lib/charges/disputes/schema.ts'
import { newRoutableId } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { cents } from '#lib/core/money.ts'
import { db, type Tx } from '#lib/db/client.ts'
import { noteItem } from '#lib/differences/differences.ts'
import { lockBooks } from '#lib/ledger/owed.ts'

type Status = 'open' | 'won' | 'lost'

export interface DisputedCharge {
  accountId: string
  id: string
  mode: Mode
}

/** Returns the charge that the disputed payment has paid; null after a note among the differences. */
export async function findDisputedCharge(
  report: DisputeReport,
  status: Status,
  note: typeof noteDispute,
): Promise<DisputedCharge | null> {
  const { connectionId, endToEndId, amount } = report
  const charge = await db().charge.findFirst({
    where: { connectionId, endToEndId, status: 'paid' },
    select: { accountId: true, id: true, mode: true, amount: true },
  })
  if (charge && charge.amount >= BigInt(amount)) return { ...charge, mode: charge.mode as Mode }
  await note(db(), 'dispute_unmatched', report, status)
  return null
}

/**
 * Locks the charge, so that its disputes are booked in turn, then the available balance, so that what the account
 * owes is the same in all statements of the transaction.
 */
export async function lockDisputed(tx: Tx, { accountId, id, mode }: DisputedCharge): Promise<void> {
  await tx.$queryRaw`
    SELECT FROM charges WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid FOR UPDATE`
  await lockBooks(tx, accountId, mode)
}

/** Returns the columns of a dispute of the charge, without its status. */
export function newDispute(
  { connectionId, bankId, respondBy }: DisputeReport,
  { accountId, id: chargeId, mode }: DisputedCharge,
  amount: number,
) {
  const id = newRoutableId(accountId)
  return { accountId, id, mode, connectionId, bankId, chargeId, amount, respondBy }
}

/** What is left of the payment of a charge, and of which of its parts the bank may report twice. */
export interface Remainder {
  /** Not refunded, returned or lost. A held refund does not count: the bank may still reject it. */
  left: number
  /** Part of `left` that is disputed. */
  disputed: number
  /** What the bank has returned for disputes (MED) of which it has not reported the loss. */
  returned: number
  /** What was lost in disputes of which the bank has not listed the return. */
  lost: number
}

/** The caller has locked the charge. Reads prisma/functions/troco_disputed.sql. */
export async function readRemainder(
  tx: Tx,
  { accountId, id }: Pick<DisputedCharge, 'accountId' | 'id'>,
): Promise<Remainder> {
  const [row] = await tx.$queryRaw<Record<keyof Remainder, bigint>[]>`
    SELECT c.amount - c.refunded_amount - c.returned_amount - d.lost AS left, d.disputed,
      GREATEST(0, r.returned - s.returned)::bigint AS returned,
      GREATEST(0, d.lost - r.disputed)::bigint AS lost
    FROM charges c CROSS JOIN LATERAL troco_disputed(c.account_id, c.id) d
    CROSS JOIN LATERAL (SELECT COALESCE(sum(r.disputed_amount), 0) AS disputed, COALESCE(
        sum(r.amount - r.disputed_amount) FILTER (WHERE r.nature LIKE 'MED%'), 0) AS returned
      FROM payment_returns r WHERE r.account_id = c.account_id AND r.charge_id = c.id) r
    CROSS JOIN LATERAL (SELECT COALESCE(sum(s.returned_amount), 0) AS returned
      FROM disputes s WHERE s.account_id = c.account_id AND s.charge_id = c.id) s
    WHERE c.account_id = ${accountId}::uuid AND c.id = ${id}::uuid`
  const { left = 0, disputed = 0, returned = 0, lost = 0 } = row ?? {}
  return {
    left: cents(left),
    disputed: cents(disputed),
    returned: cents(returned),
    lost: cents(lost),
  }
}

/**
 * Whether a reported amount is that of the dispute. Banks name the whole payment, of which a part may have been
 * refunded or returned before: a dispute that has all the rest agrees with more, up to the payment.
 */
export async function isAmountAgreed(
  tx: Tx,
  { accountId, id }: DisputedCharge,
  reported: number,
  stored: Pick<DisputeRow, 'amount' | 'returnedAmount'>,
): Promise<boolean> {
  if (BigInt(reported) === stored.amount) return true
  const { amount, refundedAmount, returnedAmount } = await tx.charge.findUniqueOrThrow({
    where: { accountId_id: { accountId, id } },
  })
  const before = refundedAmount + returnedAmount
  const hasRest = before > 0n && stored.amount - stored.returnedAmount + before === amount
  return hasRest && BigInt(reported) > stored.amount && BigInt(reported) <= amount
}

/** Notes each report that differs, in its end or its amount, once. */
export function noteDispute(
  tx: Tx,
  kind: 'dispute_unmatched' | 'dispute_contradicted',
  { connectionId, bankId, endToEndId, amount }: DisputeReport,
  status: Status,
  stored?: DisputeRow,
): Promise<void> {
  const facts = {
    ...{ dispute_id: bankId, end_to_end_id: endToEndId, status, amount },
    ...(stored && {
      stored_status: stored.status,
      stored_amount: Number(stored.lostAmount ?? stored.amount),
    }),
  }
  return noteItem(tx, { connectionId, kind, key: `${bankId} ${status} ${amount}`, facts })
}
