import { type Actor, personOf, recordAudit } from '#lib/audit/record.ts'
import type { AuditValues } from '#lib/audit/schema.ts'
import { invalidInput, refuse } from '#lib/core/errors.ts'
import { isUuid, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { cents } from '#lib/core/money.ts'
import { Prisma, type Tx } from '#lib/db/client.ts'
import { columnsOf, queryRows } from '#lib/db/sql.ts'
import { allowedEntries, type Entry, type MoneyEntry } from '#lib/differences/states.ts'
import { bookMovement, bookOne } from '#lib/ledger/book.ts'

export interface Decision {
  itemId: string
  reason: string
  actor: Actor
}

/** Money in `unmatched` of the operator. */
export interface UnmatchedPayment {
  id: string
  mode: Mode
  connectionId: string
  endToEndId: string
  /** Without what the bank has given back of it by itself. */
  amount: number
  paidAt: Date
}

interface LockedItem {
  kind: string
  connectionId: string
  key: string
}

/**
 * Locks an open item: of two people who settle it at once, the second is refused. Refuses an entry that its
 * kind does not allow, and one while its money is being given back.
 */
export async function lockItem(tx: Tx, itemId: string, entry: Entry): Promise<LockedItem> {
  const rows = isUuid(itemId)
    ? await tx.$queryRaw<(LockedItem & { isResolved: boolean })[]>`
        SELECT kind, connection_id AS "connectionId", key, resolved_at IS NOT NULL AS "isResolved"
        FROM differences WHERE id = ${itemId}::uuid FOR UPDATE`
    : []
  const [item] = rows
  if (!item) throw refuse('item_not_found')
  if (item.isResolved) throw refuse('already_final', { subject: 'Item', status: 'resolved' })
  const allowed = allowedEntries(item.kind)
  if (!allowed.includes(entry))
    throw invalidInput('entry', `must be ${allowed.join(' or ')} for ${item.kind}`)
  const pending = await tx.unmatchedReturn.count({ where: { itemId, status: 'pending' } })
  if (pending > 0)
    throw refuse('under_way', 'The bank is giving the money back: wait for its answer')
  return item
}

/** Locks an item as `lockItem` and returns its unmatched money. */
export async function lockUnmatched(
  tx: Tx,
  itemId: string,
  entry: MoneyEntry,
): Promise<UnmatchedPayment> {
  const { connectionId, key } = await lockItem(tx, itemId, entry)
  const payment = await tx.unmatchedPayment.findUniqueOrThrow({
    where: { connectionId_endToEndId: { connectionId, endToEndId: key } },
  })
  const { id, mode, endToEndId, paidAt } = payment
  const { _sum } = await tx.paymentReturn.aggregate({
    where: { connectionId, endToEndId },
    _sum: { amount: true },
  })
  const amount = cents(payment.amount - (_sum.amount ?? 0n))
  return { id, mode: mode as Mode, connectionId, endToEndId, amount, paidAt }
}

/** Recipient of the money: the balance of an account, or one of its charges. */
interface Target {
  accountId: string
  chargeId?: string
}

const MOVEMENTS = {
  give_back: 'unmatched_released',
  credit: 'unmatched_released',
  match: 'unmatched_released',
  keep: 'unmatched_kept',
} as const satisfies Record<MoneyEntry, string>

/**
 * Moves a payment out of `unmatched`, once. The caller has moved its money into the books of the merchant
 * before, in the same transaction: rows of merchants are locked before those of the operator.
 */
export async function releaseUnmatched(
  tx: Tx,
  paymentId: string,
  entry: MoneyEntry,
  target?: Target,
): Promise<void> {
  const statement = bookMovement({
    ctes: {
      settled: Prisma.sql`
        INSERT INTO unmatched_resolutions (account_id, payment_id, entry, to_account_id, charge_id)
        VALUES (${OPERATOR_ACCOUNT_ID}::uuid, ${paymentId}::uuid, ${entry},
          ${target?.accountId ?? null}::uuid, ${target?.chargeId ?? null}::uuid)
        RETURNING account_id, payment_id`,
    },
    source: {
      from: Prisma.sql`settled s JOIN unmatched_payments r ON r.account_id = s.account_id AND r.id = s.payment_id`,
      columns: {
        ...columnsOf('r', ['account_id', 'mode', 'id', 'connection_id']),
        amount: Prisma.sql`r.amount - (SELECT COALESCE(sum(k.amount), 0) FROM payment_returns k
          WHERE k.connection_id = r.connection_id AND k.end_to_end_id = r.end_to_end_id)::bigint`,
      },
    },
    movement: MOVEMENTS[entry],
    returning: Prisma.sql`json_build_object('id', r.id)`,
  })
  await queryRows(statement, tx)
}

/** Credits a payment to the available balance of an account, which repays what it owes first. */
export async function creditUnmatched(
  tx: Tx,
  accountId: string,
  { id, mode, amount, connectionId }: UnmatchedPayment,
): Promise<void> {
  await bookOne(tx, 'unmatched_credited', { accountId, id, mode, amount, connectionId })
}

/** Resolves an item that the caller has locked, and records who did it and why. */
export async function resolveItem(
  tx: Tx,
  { itemId, reason, actor }: Decision,
  entry: Entry,
  { accountId, ...values }: AuditValues & { accountId?: string } = {},
): Promise<void> {
  await tx.difference.update({
    where: { id: itemId, resolvedAt: null },
    data: { resolvedAt: new Date(), resolution: entry, resolvedBy: personOf(actor), reason },
  })
  const after = { entry, ...values }
  const action = 'difference.resolved'
  await recordAudit(tx, { actor, action, accountId, target: itemId, reason, after })
}
