import type { DisputeRow } from '#lib/charges/disputes/schema.ts'
import { Prisma, type Tx } from '#lib/db/client.ts'
import { columnsOf, queryRows } from '#lib/db/sql.ts'
import { bookMovement } from '#lib/ledger/book.ts'

/** Moves a part of a dispute's amount. What is released repays first what the account owes. */
export async function moveDisputed(
  tx: Tx,
  movement: 'dispute_held' | 'dispute_owed' | 'dispute_won' | 'dispute_lost',
  { accountId, id }: DisputeRow,
  amount: bigint,
): Promise<void> {
  if (amount === 0n) return
  const statement = bookMovement({
    ctes: {
      moved: Prisma.sql`
        SELECT d.account_id, d.mode, d.id, d.connection_id, ${amount}::bigint AS amount
        FROM disputes d WHERE d.account_id = ${accountId}::uuid AND d.id = ${id}::uuid`,
    },
    source: {
      from: Prisma.sql`moved d`,
      columns: {
        ...columnsOf('d', ['account_id', 'mode', 'id', 'amount', 'connection_id']),
      },
    },
    movement,
    returning: Prisma.sql`json_build_object('id', d.id)`,
  })
  await queryRows(statement, tx)
}
