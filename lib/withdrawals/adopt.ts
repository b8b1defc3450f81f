// Over the line limit: what becomes of a payout that the books may lack.

import type { Booked, Restored } from '#lib/banks/closures.ts'
import type { TakenOrder } from '#lib/banks/lists.ts'
import { idLowerBoundAt, OPERATOR_ACCOUNT_ID, toUuid } from '#lib/core/ids.ts'
import { inferPixKeyType } from '#lib/core/pix/pix-key.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { columnsOf, isInBucket, queryRows } from '#lib/db/sql.ts'
import { type Held, holdOrder, releaseOrder } from '#lib/differences/differences.ts'
import { isOverdraft } from '#lib/ledger/accounts.ts'
import { bookMovement } from '#lib/ledger/book.ts'
import { withdrawalOrderSql } from '#lib/withdrawals/insert.ts'
import { approveWithdrawal } from '#lib/withdrawals/outcome.ts'
import { withdrawalAsJson } from '#lib/withdrawals/queries.ts'

/**
 * Books a payout that the bank has taken and the restored books may lack. If the withdrawal is missing, one that
 * was requested since the restore with the same key and amount takes the payment, because its client has most
 * likely repeated the request; else the withdrawal is written again, and its amount leaves the account. What can be
 * charged to no account is held among the differences. Called again, it does nothing.
 */
export async function adoptPayout(restored: Restored, order: TakenOrder): Promise<Booked> {
  const { connectionId } = restored
  const id = toUuid(order.id)
  const hold = (cause: Held['cause'], accountId: string | null = null) =>
    holdOrder('payout_unbooked', connectionId, order, { cause, accountId })
  const known = await findKnown(id, order)
  if (known?.status === 'rejected' || known?.isSame === false)
    return hold('contradicted', known.accountId)
  if (known) {
    const isPending = known.status === 'pending'
    // Nobody asks about it while it waits for an approval, which it had before the restore.
    if (isPending && known.isWaiting && !order.isDone) return 'unsettled'
    if (isPending && order.isDone && !(await settle(known, order))) return 'unsettled'
    return releaseOrder('payout_unbooked', connectionId, order)
  }
  if (!order.isDone) return 'unsettled'
  const owners = await findOwners(id)
  const [accountId] = owners
  const isClear = accountId !== undefined && owners.length === 1
  const repeated = await findRepeated(restored, owners, order)
  const lost = repeated ?? (isClear ? { accountId, id } : null)
  if (!lost) return hold('account_unknown')
  if (!repeated && !(await insertLost(connectionId, lost, order)))
    return hold('balance', lost.accountId)
  if (!(await settle(lost, order))) return 'unsettled'
  return releaseOrder('payout_unbooked', connectionId, order)
}

/** Settles as paid, also what waits for a member's approval. Returns false if it was settled meanwhile. */
async function settle(
  { accountId, id: withdrawalId }: Pick<KnownWithdrawal, 'accountId' | 'id'>,
  { endToEndId }: TakenOrder,
): Promise<boolean> {
  const ofWithdrawal = Prisma.sql`approval_due_at = NULL,`
  const decision = { condition: Prisma.sql`true`, ofWithdrawal }
  return (await approveWithdrawal({ accountId, withdrawalId, endToEndId, decision })) !== null
}

interface KnownWithdrawal {
  accountId: string
  id: string
  status: string
  /** For the approval of a member. */
  isWaiting: boolean
  isSame: boolean
}

/** By the id of the order, or by its payment, which a repeated withdrawal may have taken. */
async function findKnown(id: string, order: TakenOrder): Promise<KnownWithdrawal | null> {
  const { endToEndId, amount } = order
  // Two look-ups by index: with OR, every withdrawal would be read.
  const [known] = await db().$queryRaw<KnownWithdrawal[]>`
    SELECT w.account_id AS "accountId", w.id, w.status,
      w.approval_due_at IS NOT NULL AS "isWaiting",
      COALESCE(w.end_to_end_id = ${endToEndId}, false) OR w.amount = ${amount}::bigint AS "isSame"
    FROM (
      SELECT o.account_id, o.id FROM accounts a JOIN withdrawals o ON o.account_id = a.id
      WHERE ${isInBucket(id)} AND o.id = ${id}::uuid
      UNION
      SELECT account_id, id FROM withdrawals WHERE end_to_end_id = ${endToEndId}) k
    JOIN withdrawals w ON w.account_id = k.account_id AND w.id = k.id
    ORDER BY w.id = ${id}::uuid DESC LIMIT 1`
  return known ?? null
}

async function findOwners(id: string): Promise<string[]> {
  const rows = await db().$queryRaw<{ id: string }[]>`
    SELECT a.id FROM accounts a WHERE ${isInBucket(id)} AND a.id <> ${OPERATOR_ACCOUNT_ID}::uuid`
  return rows.map(row => row.id)
}

/** Null also if several accounts have such a withdrawal. Banks write keys in capital letters, too. */
async function findRepeated(
  { connectionId, begunAt }: Restored,
  owners: string[],
  { amount, dictKey }: TakenOrder,
): Promise<Pick<KnownWithdrawal, 'accountId' | 'id'> | null> {
  const rows = await db().$queryRaw<Pick<KnownWithdrawal, 'accountId' | 'id'>[]>`
    SELECT DISTINCT ON (w.account_id) w.account_id AS "accountId", w.id
    FROM withdrawals w JOIN bank_orders o USING (account_id, id)
    WHERE w.account_id = ANY (${owners}::uuid[]) AND w.connection_id = ${connectionId}::uuid
      AND w.mode = 'live' AND w.id >= ${idLowerBoundAt(begunAt.getTime())}::uuid
      AND w.status = 'pending' AND w.created_at >= ${begunAt}::timestamptz
      AND w.amount = ${amount}::bigint AND lower(w.dict_key) = lower(${dictKey}) AND o.attempts = 0
      AND w.end_to_end_id IS NULL
    ORDER BY w.account_id, w.id`
  const [row] = rows
  return row && rows.length === 1 ? row : null
}

/** Writes the withdrawal again and holds its amount. Returns false if the balance does not cover it. */
async function insertLost(
  connectionId: string,
  { accountId, id }: Pick<KnownWithdrawal, 'accountId' | 'id'>,
  { amount, dictKey, orderedAt }: TakenOrder,
): Promise<boolean> {
  const key = inferPixKeyType(dictKey ?? '', 'form')
  const statement = bookMovement({
    ctes: {
      made: Prisma.sql`
        INSERT INTO withdrawals (account_id, id, mode, connection_id, status, amount, pix_key_type, pix_key,
          dict_key, created_at)
        VALUES (${accountId}::uuid, ${id}::uuid, 'live', ${connectionId}::uuid, 'pending', ${amount}::bigint,
          ${key.ok ? key.type : 'random'}, ${dictKey}, ${dictKey}, ${orderedAt}::timestamptz)
        RETURNING *`,
      ordered: withdrawalOrderSql(Prisma.sql`made s`, orderedAt),
    },
    source: {
      from: Prisma.sql`made w`,
      columns: { ...columnsOf('w', ['account_id', 'mode', 'id', 'amount']) },
    },
    movement: 'withdrawal_held',
    audit: { action: 'withdrawal.restored', by: null, orSystem: true },
    returning: withdrawalAsJson,
  })
  try {
    await queryRows(statement)
    return true
  } catch (error) {
    if (isOverdraft(error)) return false
    throw error
  }
}
