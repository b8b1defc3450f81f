import { OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { type Ctes, columnsOf, utcText } from '#lib/db/sql.ts'
import { insertItemsSql } from '#lib/differences/differences.ts'
import { bookMovement } from '#lib/ledger/book.ts'

/**
 * Builds the INSERT that claims payments: of all statements about one payment, a single one gets its
 * row back and books it. Reads `connection_id`, `end_to_end_id`, `account_id` and `id` of `source`.
 * Ids of PIX have 32 characters and are unique across banks; another id is unique at its connection.
 * In the order of ids, so that two statements cannot deadlock.
 */
export function claimPaymentsSql(source: string): Prisma.Sql {
  return Prisma.sql`
    INSERT INTO booked_payments (end_to_end_id, connection_id, account_id, subject_id)
    SELECT CASE WHEN end_to_end_id ~ '^[A-Za-z0-9]{32}$' THEN end_to_end_id
      ELSE connection_id || ' ' || end_to_end_id END, connection_id, account_id, id
    FROM ${Prisma.raw(source)} ORDER BY end_to_end_id
    ON CONFLICT DO NOTHING
    RETURNING account_id, subject_id AS id`
}

/** Returns which of the payments that a connection lists are claimed. */
export async function findClaimed(connectionId: string, ids: string[]): Promise<Set<string>> {
  const keyOf = new Map(ids.flatMap(id => [id, `${connectionId} ${id}`].map(key => [key, id])))
  const claims = await db().bookedPayment.findMany({
    where: { endToEndId: { in: [...keyOf.keys()] } },
    select: { endToEndId: true },
  })
  return new Set(claims.flatMap(({ endToEndId }) => keyOf.get(endToEndId) ?? []))
}

/**
 * Builds the statement that moves payments to `unmatched` of the operator, each once, with a
 * difference. The CTE `strays` has one row per payment: id, item_id, mode, connection_id, end_to_end_id, txid,
 * amount, paid_at, `reason` (kind of the item), charge_account_id, charge_id, `facts` (further ones).
 */
export function keepUnmatchedSql(ctes: Ctes & { strays: Prisma.Sql }): Prisma.Sql {
  const { strays, ...before } = ctes
  return bookMovement({
    ctes: {
      ...before,
      strays: Prisma.sql`
        SELECT ${OPERATOR_ACCOUNT_ID}::uuid AS account_id, s.* FROM (${strays}) s`,
      claimed: claimPaymentsSql('strays'),
      suspended: Prisma.sql`
        INSERT INTO unmatched_payments (account_id, id, mode, connection_id, end_to_end_id, txid, amount, paid_at,
          reason, charge_account_id, charge_id)
        SELECT account_id, id, mode, connection_id, end_to_end_id, txid, amount, paid_at, reason,
          charge_account_id, charge_id
        FROM strays JOIN claimed USING (account_id, id)
        RETURNING *`,
      items: Prisma.sql`
        SELECT s.item_id, s.connection_id, s.reason AS kind, s.end_to_end_id AS key,
          jsonb_strip_nulls(s.facts || jsonb_build_object('payment_id', s.id, 'mode', s.mode,
            'end_to_end_id', s.end_to_end_id, 'txid', s.txid, 'amount', s.amount,
            'paid_at', ${utcText('s.paid_at')}))::json AS facts
        FROM strays s JOIN claimed USING (account_id, id)`,
      noted: insertItemsSql('items'),
    },
    source: {
      from: Prisma.sql`suspended r`,
      columns: {
        ...columnsOf('r', ['account_id', 'mode', 'id', 'amount', 'connection_id']),
      },
    },
    movement: 'unmatched_received',
    returning: Prisma.sql`json_build_object('id', r.id, 'reason', r.reason, 'accountId', r.charge_account_id)`,
  })
}
