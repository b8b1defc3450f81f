import { Prisma } from '#lib/base/db/client.ts'
import { queryRows } from '#lib/base/db/rows.ts'
import { columnsOf } from '#lib/base/db/statement.ts'
import { inferPixKeyType } from '#lib/base/pix/pix-key.ts'
import type { KnownWithdrawal } from '#lib/rooms/withdrawals/find-lost.ts'
import { withdrawalOrderSql } from '#lib/rooms/withdrawals/insert.ts'
import { withdrawalAsJson } from '#lib/rooms/withdrawals/queries.ts'
import { bookMovement } from '#lib/services/booking/book.ts'
import type { TakenOrder } from '#lib/services/gateway/lists.ts'
import { isOverdraft } from '#lib/services/ledger/accounts.ts'

/** Writes the withdrawal again and holds its amount. Returns false if the balance does not cover it. */
export async function insertLost(
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
