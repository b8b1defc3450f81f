import { newRoutableId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { Prisma, retryOnConflict } from '#lib/db/client.ts'
import { columnsOf, queryRows } from '#lib/db/sql.ts'
import { bookMovement } from '#lib/ledger/book.ts'

export interface BankFee {
  connectionId: string
  mode: Mode
  /** The bank's id of the fee. */
  bankId: string
  amount: number
  at: Date
  /** Whether the bank gave a fee back. */
  isReturn: boolean
}

/** Fees of one statement. */
const BATCH_MAX = 500

/**
 * Books fees of banks to the operator, and those that were given back, never to a merchant. Returns how many
 * were not booked before. After a crash, a repeated call books the rest.
 */
export async function payFees(fees: BankFee[]): Promise<number> {
  let booked = 0
  for (const movement of ['fee_paid', 'fee_returned'] as const) {
    const wanted = fees.filter(({ isReturn }) => isReturn === (movement === 'fee_returned'))
    for (let start = 0; start < wanted.length; start += BATCH_MAX) {
      const statement = payFeesSql(movement, wanted.slice(start, start + BATCH_MAX))
      booked += (await retryOnConflict(() => queryRows(statement))).length
    }
  }
  return booked
}

/** In the order of ids, so that two statements cannot deadlock. */
function payFeesSql(movement: 'fee_paid' | 'fee_returned', fees: BankFee[]): Prisma.Sql {
  const list = <Value>(pick: (fee: BankFee) => Value) => fees.map(pick)
  return bookMovement({
    ctes: {
      charged: Prisma.sql`
        INSERT INTO bank_fees (account_id, id, mode, connection_id, bank_id, amount, charged_at, is_return)
        SELECT ${OPERATOR_ACCOUNT_ID}::uuid, f.*, ${movement === 'fee_returned'}::boolean
        FROM unnest(${list(() => newRoutableId(OPERATOR_ACCOUNT_ID))}::uuid[], ${list(({ mode }) => mode)}::text[],
          ${list(({ connectionId }) => connectionId)}::uuid[], ${list(({ bankId }) => bankId)}::text[],
          ${list(({ amount }) => amount)}::bigint[], ${list(({ at }) => at)}::timestamptz[])
          AS f (id, mode, connection_id, bank_id, amount, charged_at)
        ORDER BY f.connection_id, f.bank_id
        ON CONFLICT (connection_id, bank_id) DO NOTHING
        RETURNING *`,
    },
    source: {
      from: Prisma.sql`charged f`,
      columns: {
        ...columnsOf('f', ['account_id', 'mode', 'id', 'amount', 'connection_id']),
      },
    },
    movement,
    returning: Prisma.sql`json_build_object('id', f.id)`,
  })
}
