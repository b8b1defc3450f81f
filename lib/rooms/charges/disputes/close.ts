import { Prisma, type Tx } from '#lib/base/db/client.ts'
import { queryRows } from '#lib/base/db/rows.ts'
import { columnsOf } from '#lib/base/db/statement.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import { newRoutableId } from '#lib/base/ids.ts'
import { holdDispute } from '#lib/rooms/charges/disputes/open.ts'
import {
  findDisputedCharge,
  lockDisputed,
  noteDispute,
} from '#lib/rooms/charges/disputes/queries.ts'
import type { DisputeReport, DisputeRow } from '#lib/rooms/charges/disputes/schema.ts'
import { bookMovement } from '#lib/services/booking/book.ts'
import { openDisputeLedgers } from '#lib/services/ledger/owed.ts'

/**
 * Releases the disputed amount; what the account owes is repaid of it first. A dispute that was never
 * reported open moves nothing. Called twice, it does nothing. A dispute that was lost stays so: the
 * contradiction goes to the inbox.
 */
export function winDispute(report: DisputeReport): Promise<DisputeRow | null> {
  return closeDispute(report, 'won')
}

/**
 * Lets the disputed amount leave the account; what was not held is then a claim of the house on it. A
 * dispute that was never reported open is held before. Called twice, it does nothing; after a won one, the
 * contradiction goes to the inbox.
 */
export function loseDispute(report: DisputeReport): Promise<DisputeRow | null> {
  return closeDispute(report, 'lost')
}

async function closeDispute(
  report: DisputeReport,
  outcome: 'won' | 'lost',
): Promise<DisputeRow | null> {
  const charge = await findDisputedCharge(report)
  if (!charge) return null
  await openDisputeLedgers(charge.accountId, charge.mode)
  return transaction(async tx => {
    await lockDisputed(tx, charge)
    if (outcome === 'won') await insertWon(tx, report, charge)
    const dispute = await holdDispute(tx, report, charge)
    if (dispute.status === outcome) return dispute
    const { accountId, id } = dispute
    await queryRows(closeSql(dispute, outcome), tx)
    const closed = await tx.dispute.findUniqueOrThrow({
      where: { accountId_id: { accountId, id } },
    })
    if (closed.status !== outcome) await noteDispute(tx, 'dispute_contradicted', report)
    return closed
  })
}

/** A dispute that the bank reports only when it is over, and that moved no money. */
async function insertWon(
  tx: Tx,
  { connectionId, bankId, amount, respondBy }: DisputeReport,
  { accountId, id: chargeId, mode }: NonNullable<Awaited<ReturnType<typeof findDisputedCharge>>>,
): Promise<void> {
  const terms = { accountId, id: newRoutableId(accountId), mode, connectionId, bankId, chargeId }
  await tx.dispute.createMany({
    data: { ...terms, amount, respondBy, status: 'won', closedAt: new Date() },
    skipDuplicates: true,
  })
}

function closeSql({ accountId, id }: DisputeRow, outcome: 'won' | 'lost'): Prisma.Sql {
  return bookMovement({
    ctes: {
      closed: Prisma.sql`
        UPDATE disputes d SET status = ${outcome}, closed_at = now(), updated_at = now()
        WHERE d.account_id = ${accountId}::uuid AND d.id = ${id}::uuid AND d.status = 'open'
        RETURNING d.*`,
    },
    source: {
      from: Prisma.sql`closed d`,
      columns: {
        ...columnsOf('d', ['account_id', 'mode', 'id', 'amount', 'connection_id']),
        booked_at: Prisma.sql`NULL::timestamptz`,
      },
    },
    movement: outcome === 'won' ? 'dispute_won' : 'dispute_lost',
    isRepaying: true,
    returning: Prisma.sql`json_build_object('id', d.id)`,
  })
}
