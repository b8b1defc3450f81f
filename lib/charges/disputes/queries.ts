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

/**
 * Returns what of the charge is not refunded, lost or disputed; not above zero if nothing is left. A held
 * refund does not count: the bank may still reject it. Reads prisma/functions/troco_disputed.sql.
 */
export async function readDisputable(tx: Tx, { accountId, id }: DisputedCharge): Promise<number> {
  const [charge] = await tx.$queryRaw<{ disputable: bigint }[]>`
    SELECT c.amount - c.refunded_amount - d.disputed - d.lost AS disputable
    FROM charges c CROSS JOIN LATERAL troco_disputed(c.account_id, c.id) d
    WHERE c.account_id = ${accountId}::uuid AND c.id = ${id}::uuid`
  return cents(charge?.disputable ?? 0)
}

/**
 * Whether a reported amount is that of the dispute. Banks name the whole payment, of which a part may have been
 * refunded before: a dispute that has all the rest agrees with more, up to the payment.
 */
export async function isAmountAgreed(
  tx: Tx,
  { accountId, id }: DisputedCharge,
  reported: number,
  stored: bigint,
): Promise<boolean> {
  if (BigInt(reported) === stored) return true
  const { amount, refundedAmount } = await tx.charge.findUniqueOrThrow({
    where: { accountId_id: { accountId, id } },
  })
  const hasRest = refundedAmount > 0n && stored + refundedAmount === amount
  return hasRest && BigInt(reported) > stored && BigInt(reported) <= amount
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
