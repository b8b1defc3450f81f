import { Prisma, type Tx } from '#lib/base/db/client.ts'
import { queryRows } from '#lib/base/db/rows.ts'
import { columnsOf } from '#lib/base/db/statement.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import { newRoutableId } from '#lib/base/ids.ts'
import {
  findDisputedCharge,
  lockDisputed,
  noteDispute,
} from '#lib/rooms/charges/disputes/queries.ts'
import type { DisputeReport, DisputeRow } from '#lib/rooms/charges/disputes/schema.ts'
import { bookMovement } from '#lib/services/booking/book.ts'
import { lockDisputes, openDisputeLedgers } from '#lib/services/ledger/owed.ts'

/**
 * Holds the disputed amount: from the available balance as far as it reaches; the account owes the rest,
 * which is held next of what comes in. Called twice, or after the end was reported, it does nothing. A
 * dispute of no charge, or of more than its amount, goes to the inbox. Returns null for it.
 */
export async function openDispute(report: DisputeReport): Promise<DisputeRow | null> {
  const charge = await findDisputedCharge(report)
  if (!charge) return null
  await openDisputeLedgers(charge.accountId, charge.mode)
  return transaction(async tx => {
    await lockDisputed(tx, charge)
    return holdDispute(tx, report, charge)
  })
}

/** Returns the dispute, which is held by this call or was reported before. */
export async function holdDispute(
  tx: Tx,
  report: DisputeReport,
  { accountId, id: chargeId, mode }: NonNullable<Awaited<ReturnType<typeof findDisputedCharge>>>,
): Promise<DisputeRow> {
  const { connectionId, bankId, amount } = report
  const id = newRoutableId(accountId)
  const terms = { accountId, id, mode, connectionId, bankId, chargeId, amount }
  const { count } = await tx.dispute.createMany({
    data: { ...terms, status: 'open', respondBy: report.respondBy },
    skipDuplicates: true,
  })
  const dispute = await tx.dispute.findUniqueOrThrow({
    where: { connectionId_bankId: { connectionId, bankId } },
  })
  if (count === 0) {
    if (dispute.amount !== BigInt(amount)) await noteDispute(tx, 'dispute_contradicted', report)
    return dispute
  }
  const { available } = await lockDisputes(tx, accountId, mode)
  const held = Math.min(available, amount)
  if (held > 0) await queryRows(moveSql('dispute_held', id, accountId, held), tx)
  if (held < amount) await queryRows(moveSql('dispute_owed', id, accountId, amount - held), tx)
  return dispute
}

function moveSql(
  movement: 'dispute_held' | 'dispute_owed',
  id: string,
  accountId: string,
  amount: number,
): Prisma.Sql {
  return bookMovement({
    ctes: {
      opened: Prisma.sql`
        SELECT d.account_id, d.mode, d.id, ${amount}::bigint AS amount FROM disputes d
        WHERE d.account_id = ${accountId}::uuid AND d.id = ${id}::uuid`,
    },
    source: {
      from: Prisma.sql`opened d`,
      columns: {
        ...columnsOf('d', ['account_id', 'mode', 'id', 'amount']),
        booked_at: Prisma.sql`NULL::timestamptz`,
      },
    },
    movement,
    returning: Prisma.sql`json_build_object('id', d.id)`,
  })
}
