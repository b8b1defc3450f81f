import type { MemberAction } from '#lib/base/audit/record.ts'
import { Prisma, type Tx } from '#lib/base/db/client.ts'
import { queryRows } from '#lib/base/db/rows.ts'
import { columnsOf } from '#lib/base/db/statement.ts'
import { retryOnConflict } from '#lib/base/db/transaction.ts'
import { wake } from '#lib/base/db/wake.ts'
import { newRoutableId } from '#lib/base/ids.ts'
import { notWaiting } from '#lib/rooms/withdrawals/approval.ts'
import { lockWithdrawal } from '#lib/rooms/withdrawals/lock.ts'
import { withdrawalEventColumns } from '#lib/rooms/withdrawals/queries.ts'
import { logOtherPayment, paymentAssignments } from '#lib/rooms/withdrawals/record-taken.ts'
import type { WithdrawalRow } from '#lib/rooms/withdrawals/schema.ts'
import { bookMovement } from '#lib/services/booking/book.ts'
import type { Party } from '#lib/services/gateway/gateway.ts'
import {
  type BankRefusal,
  type Rejection,
  rejectionAssignments,
} from '#lib/services/gateway/rejection.ts'

interface Settlement {
  accountId: string
  withdrawalId: string
  /** Settlement time; defaults to now, set only for demo data. */
  bookedAt?: Date
  /** Lease of the job that settles the withdrawal. A job that has lost the lease writes nothing. */
  lease?: string
  /** Transaction that does more than this; after its commit the caller wakes the deliveries. */
  tx?: Tx
  /** Set if people decide about it; else a withdrawal that waits for approval is not settled. */
  approval?: { condition: Prisma.Sql; assignments: Prisma.Sql; audit?: MemberAction }
}

/** Debits the held amount after it was sent. Returns null if already settled. */
export async function approveWithdrawal(
  settlement: Settlement & { endToEndId: string | null; payee?: Party },
): Promise<WithdrawalRow | null> {
  const { withdrawalId, endToEndId, payee } = settlement
  const row = await settle(settlement, 'approved', paymentAssignments(endToEndId, payee))
  if (row) logOtherPayment(withdrawalId, row.end_to_end_id, endToEndId)
  return row
}

/** Releases the held amount after the bank's final refusal, or without approval. Returns null if already settled. */
export function rejectWithdrawal(
  settlement: Settlement & { reason: Rejection | BankRefusal },
): Promise<WithdrawalRow | null> {
  return settle(settlement, 'rejected', rejectionAssignments(settlement.reason))
}

async function settle(
  settlement: Settlement,
  outcome: 'approved' | 'rejected',
  assignments: Prisma.Sql,
): Promise<WithdrawalRow | null> {
  const { accountId, withdrawalId, approval } = settlement
  const bookedAt = Prisma.sql`${settlement.bookedAt ?? null}::timestamptz`
  const lease = settlement.lease ?? null
  const statement = bookMovement({
    ctes: {
      settled: Prisma.sql`
        UPDATE withdrawals w SET status = ${outcome}, ${assignments},
          ${approval?.assignments ?? Prisma.empty} due_at = NULL, lease = NULL,
          ${Prisma.raw(`${outcome}_at`)} = COALESCE(${bookedAt}, now()),
          updated_at = now()
        WHERE w.account_id = ${accountId}::uuid AND w.id = ${withdrawalId}::uuid
          AND w.status = 'pending' AND ${approval?.condition ?? notWaiting}
          AND (${lease}::uuid IS NULL OR w.lease = ${lease}::uuid)
        RETURNING w.*`,
    },
    source: {
      from: Prisma.sql`settled w`,
      columns: {
        ...withdrawalEventColumns,
        ...columnsOf('w', ['id', 'amount', 'connection_id']),
        booked_at: bookedAt,
        event_id: Prisma.sql`${newRoutableId(accountId)}::uuid`,
      },
    },
    movement: outcome === 'approved' ? 'withdrawal_sent' : 'withdrawal_returned',
    event: `withdrawal.${outcome}`,
    audit: approval?.audit,
  })
  const { tx } = settlement
  if (tx) {
    await lockWithdrawal(tx, settlement)
    const [row] = await queryRows<WithdrawalRow>(statement, tx)
    return row ?? null
  }
  const [row] = await retryOnConflict(() => queryRows<WithdrawalRow>(statement))
  if (row) wake('deliveries')
  return row ?? null
}
