import { db } from '#lib/base/db/client.ts'
import { isInBucket } from '#lib/base/db/columns.ts'
import { HOUSE_ACCOUNT_ID, idLowerBoundAt } from '#lib/base/ids.ts'
import type { Restored } from '#lib/services/gateway/closures.ts'
import type { TakenOrder } from '#lib/services/gateway/lists.ts'

export interface KnownWithdrawal {
  accountId: string
  id: string
  status: string
  /** For the approval of a member. */
  isWaiting: boolean
  isSame: boolean
}

/** By the id of the order, or by its payment, which a repeated withdrawal may have taken. */
export async function findKnown(id: string, order: TakenOrder): Promise<KnownWithdrawal | null> {
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

export async function findOwners(id: string): Promise<string[]> {
  const rows = await db().$queryRaw<{ id: string }[]>`
    SELECT a.id FROM accounts a WHERE ${isInBucket(id)} AND a.id <> ${HOUSE_ACCOUNT_ID}::uuid`
  return rows.map(row => row.id)
}

/** The cents of a try of a connection are asked about by the try. */
export async function isOfTry(payoutId: string): Promise<boolean> {
  return (await db().bankTry.count({ where: { payoutId } })) > 0
}

/** Null also if several accounts have such a withdrawal. Banks write keys in capital letters, too. */
export async function findRepeated(
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
