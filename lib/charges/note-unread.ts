import type { UnreadPayment } from '#lib/banks/lists.ts'
import { newRoutableId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { log } from '#lib/core/log.ts'
import { db } from '#lib/db/client.ts'
import { insertItemsSql } from '#lib/differences/differences.ts'

/**
 * Reports payments of a bank's list that cannot be read to staff, each once, with the charge that its
 * txid names. Logs its failure: the payments that can be read are booked.
 */
export async function noteUnread(connectionId: string, unread: UnreadPayment[]): Promise<void> {
  const list = (pick: (payment: UnreadPayment) => string | null) => unread.map(pick)
  const itemIds = unread.map(() => newRoutableId(OPERATOR_ACCOUNT_ID))
  if (unread.length === 0) return
  await db().$executeRaw`
    WITH source AS (
      SELECT u.item_id, ${connectionId}::uuid AS connection_id, 'payment_unreadable' AS kind, u.key,
        jsonb_strip_nulls(jsonb_build_object('account_id', c.account_id, 'transaction_id', c.id,
          'mode', c.mode, 'txid', c.txid, 'expected_amount', c.amount, 'sent', u.sent))::json AS facts
      FROM unnest(${itemIds}::uuid[], ${list(({ key }) => key)}::text[],
        ${list(({ txid }) => txid)}::text[], ${list(({ sent }) => sent)}::text[])
        AS u (item_id, key, txid, sent)
      LEFT JOIN charges c ON c.txid = u.txid AND c.connection_id = ${connectionId}::uuid
    ) ${insertItemsSql('source')}`.catch(err =>
    log().error({ err, connectionId }, 'reporting unreadable payments failed'),
  )
}
