import { Prisma } from '#lib/base/db/client.ts'
import { queryRows } from '#lib/base/db/rows.ts'
import { columnsOf } from '#lib/base/db/statement.ts'
import { retryOnConflict } from '#lib/base/db/transaction.ts'
import { HOUSE_ACCOUNT_ID, newRoutableId } from '#lib/base/ids.ts'
import type { Mode } from '#lib/base/mode.ts'
import { bookMovement } from '#lib/services/booking/book.ts'

export interface BankFee {
  connectionId: string
  mode: Mode
  /** The bank's id of the fee. */
  bankId: string
  amount: number
  at: Date
}

/** Books a fee of the bank to the house, never to a merchant. Returns false if it was booked before. */
export async function payFee(fee: BankFee): Promise<boolean> {
  const statement = bookMovement({
    ctes: {
      charged: Prisma.sql`
        INSERT INTO bank_fees (account_id, id, mode, connection_id, bank_id, amount, charged_at)
        VALUES (${HOUSE_ACCOUNT_ID}::uuid, ${newRoutableId(HOUSE_ACCOUNT_ID)}::uuid, ${fee.mode},
          ${fee.connectionId}::uuid, ${fee.bankId}, ${fee.amount}::bigint, ${fee.at}::timestamptz)
        ON CONFLICT (connection_id, bank_id) DO NOTHING
        RETURNING *`,
    },
    source: {
      from: Prisma.sql`charged f`,
      columns: {
        ...columnsOf('f', ['account_id', 'mode', 'id', 'amount', 'connection_id']),
      },
    },
    movement: 'fee_paid',
    returning: Prisma.sql`json_build_object('id', f.id)`,
  })
  const rows = await retryOnConflict(() => queryRows(statement))
  return rows.length > 0
}
