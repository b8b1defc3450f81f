import { removeHyphens } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { Prisma } from '#lib/db/client.ts'
import { asJson, isInBucket, queryRows, utc } from '#lib/db/sql.ts'
import type { ReceiptFacts } from '#lib/receipts/format.ts'

/** Result of comparing a receipt, whose signature is valid, with the record of the payment. */
export type Agreement = 'agrees' | 'partly' | 'returned' | 'contradicts' | 'gone'

interface PaymentRecord {
  id: string
  mode: Mode
  amount: number
  at: string | null
  end_to_end_id: string | null
  /** Refunds, returns by the bank and lost disputes of a charge; what came back of a withdrawal. */
  returned: number
  /** none: the record knows no payment, as after a restore. other: it says that it went otherwise. */
  payment: 'none' | 'done' | 'other'
}

/** Compares the receipt with the record of the payment; nothing else of the record leaves here. */
export async function compareWithRecord(facts: ReceiptFacts): Promise<Agreement> {
  const [record] = await queryRows<PaymentRecord>(
    facts.kind === 'transaction' ? chargeSql(facts) : withdrawalSql(facts),
  )
  if (!record || record.payment === 'none') return 'gone'
  const { id, mode, amount, at, endToEndId } = facts
  const isSame =
    record.payment === 'done' &&
    record.id === id &&
    record.mode === mode &&
    record.amount === amount &&
    record.at === at &&
    record.end_to_end_id === endToEndId
  if (!isSame) return 'contradicts'
  if (record.returned === 0) return 'agrees'
  return record.returned < amount ? 'partly' : 'returned'
}

/** Finds what was lost in disputes by prisma/functions/troco_disputed.sql. */
function chargeSql({ id }: ReceiptFacts): Prisma.Sql {
  const columns = Prisma.sql`
    c.id, c.mode, c.amount, ${utc('c.paid_at', 'at')}, c.end_to_end_id,
    CASE c.status WHEN 'paid' THEN 'done' ELSE 'none' END AS payment,
    c.refunded_amount + c.returned_amount + (SELECT d.lost FROM troco_disputed(c.account_id, c.id) d) AS returned`
  return Prisma.sql`
    SELECT ${asJson(columns)}::text AS json FROM charges c WHERE c.txid = ${removeHyphens(id)}`
}

/**
 * Finds the withdrawal by end-to-end id, else by its own id, which is unique only within an account: the
 * last digits of an id are those of its account.
 */
function withdrawalSql({ id, endToEndId }: ReceiptFacts): Prisma.Sql {
  const columns = Prisma.sql`
    w.id, w.mode, w.amount, ${utc('w.approved_at', 'at')}, w.end_to_end_id,
    CASE WHEN w.status = 'rejected' OR o.contradiction IS NOT NULL
        OR w.other_end_to_end_id IS NOT NULL THEN 'other'
      WHEN w.status = 'approved' THEN 'done' ELSE 'none' END AS payment, w.returned_amount AS returned`
  return Prisma.sql`
    SELECT ${asJson(columns)}::text AS json FROM (
      SELECT 1 AS place, w.* FROM withdrawals w WHERE w.end_to_end_id = ${endToEndId}
      UNION ALL SELECT 2, w.* FROM accounts a
        JOIN withdrawals w ON w.account_id = a.id AND w.id = ${id}::uuid
      WHERE ${isInBucket(id)}
      ORDER BY place LIMIT 1) w
    JOIN bank_orders o ON o.account_id = w.account_id AND o.id = w.id`
}
