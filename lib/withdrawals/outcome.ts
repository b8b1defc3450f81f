// Over the line limit: both ends, and what the bank reports with them, change one row by one rule.

import type { MemberAction } from '#lib/audit/record.ts'
import type { OrderState, Party } from '#lib/banks/gateway.ts'
import { type BankRefusal, type Rejection, rejectionAssignments } from '#lib/banks/rejection.ts'
import { newRoutableId } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import { log } from '#lib/core/log.ts'
import { Prisma, retryOnConflict, type Tx, transaction } from '#lib/db/client.ts'
import { columnsOf, queryRows } from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import { bookMovement } from '#lib/ledger/book.ts'
import { endOrderSql } from '#lib/orders/order.ts'
import { withdrawalEventColumns } from '#lib/withdrawals/queries.ts'
import { lockWithdrawal, returnFailedPayout, returnPayout } from '#lib/withdrawals/return.ts'
import type { WithdrawalRow } from '#lib/withdrawals/schema.ts'

interface Settlement {
  accountId: string
  withdrawalId: string
  /** Settlement time; defaults to now, set only for demo data. */
  bookedAt?: Date
  /** Lease of the worker that settles the withdrawal. One that has lost the lease writes nothing. */
  lease?: string | null
  /** Transaction that does more than this; after its commit the caller wakes the deliveries. */
  tx?: Tx
  /** Set if people decide: conditions and assignments of the order `o`, assignments of the withdrawal `w`. */
  decision?: Decision
}

interface Decision {
  condition: Prisma.Sql
  ofOrder?: Prisma.Sql
  ofWithdrawal?: Prisma.Sql
  audit?: MemberAction
}

/** Debits the held amount after it was sent. Returns null if already settled. */
export async function approveWithdrawal(
  settlement: Settlement & { endToEndId: string | null; payee?: Party },
): Promise<WithdrawalRow | null> {
  const { withdrawalId, endToEndId, payee } = settlement
  const row = await settle(
    settlement,
    'approved',
    paymentAssignments(endToEndId, payee),
    endToEndId,
  )
  if (row) logOtherPayment(withdrawalId, row.end_to_end_id, endToEndId)
  return row
}

/** Approves a withdrawal that the bank lists as paid, also one that waits for a member's approval. */
export function approvePaid(
  withdrawal: Pick<Settlement, 'accountId' | 'withdrawalId'>,
  endToEndId: string | null,
): Promise<WithdrawalRow | null> {
  const ofWithdrawal = Prisma.sql`approval_due_at = NULL,`
  const decision = { condition: Prisma.sql`true`, ofWithdrawal }
  return approveWithdrawal({ ...withdrawal, endToEndId, decision })
}

/** Releases the held amount after the bank's final refusal, or without approval. Returns null if already settled. */
export function rejectWithdrawal(
  settlement: Settlement & { reason: Rejection | BankRefusal },
): Promise<WithdrawalRow | null> {
  return settle(settlement, 'rejected', rejectionAssignments(settlement.reason), null)
}

/**
 * Settles a withdrawal as the bank reports. Returns null if it was settled before. What came back since is
 * credited in the same transaction: the bank is not asked about a settled withdrawal again. Without a lease, the bank was
 * asked about one that had ended.
 */
export async function endAsReported(
  accountId: string,
  withdrawalId: string,
  orderState: OrderState,
  lease: string | null = null,
): Promise<WithdrawalRow | null> {
  if (orderState.state === 'taken')
    throw new Invariant(`withdrawal ${withdrawalId} cannot be settled: its payout is on its way`)
  const withdrawal = { accountId, withdrawalId, lease }
  if (orderState.state === 'refused') {
    const rejected = await rejectWithdrawal({ ...withdrawal, reason: orderState })
    return rejected || lease !== null ? rejected : returnFailedPayout(withdrawal)
  }
  const { returns = [], ...sent } = orderState
  if (returns.length === 0) return approveWithdrawal({ ...withdrawal, ...sent })
  const row = await transaction(async tx => {
    const approved = await approveWithdrawal({ ...withdrawal, ...sent, tx })
    for (const payoutReturn of returns) await returnPayout(withdrawal, payoutReturn, tx)
    return approved
  })
  wake('deliveries')
  return row
}

/** One statement with the lock order of all withdrawals: order, withdrawal, ledger, event sequence. */
async function settle(
  settlement: Settlement,
  outcome: 'approved' | 'rejected',
  assignments: Prisma.Sql,
  bankId: string | null,
): Promise<WithdrawalRow | null> {
  const { accountId, withdrawalId: id, lease, decision } = settlement
  const bookedAt = Prisma.sql`${settlement.bookedAt ?? null}::timestamptz`
  const { condition, ofOrder, ofWithdrawal = Prisma.empty } = decision ?? {}
  const end = { bankId, lease, condition, assignments: ofOrder }
  const statement = bookMovement({
    ctes: {
      ended: endOrderSql({ accountId, id }, outcome === 'approved' ? 'done' : 'refused', end),
      settled: Prisma.sql`
        UPDATE withdrawals w SET status = ${outcome}, ${assignments}, ${ofWithdrawal}
          ${Prisma.raw(`${outcome}_at`)} = COALESCE(${bookedAt}, now()), updated_at = now()
        FROM ended e WHERE w.account_id = e.account_id AND w.id = e.id
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
    audit: decision?.audit,
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

/** The first end-to-end id stays, because others have seen it. A different one is kept for staff. */
export function paymentAssignments(
  endToEndId: string | null,
  payee: Party | undefined,
): Prisma.Sql {
  const { name = null, maskedDoc = null, bank = null } = payee ?? {}
  return Prisma.sql`
    end_to_end_id = COALESCE(w.end_to_end_id, ${endToEndId}),
    other_end_to_end_id = CASE WHEN w.end_to_end_id <> ${endToEndId} THEN ${endToEndId}
      ELSE w.other_end_to_end_id END,
    payee_name = COALESCE(${name}, w.payee_name), payee_doc = COALESCE(${maskedDoc}, w.payee_doc),
    payee_bank = COALESCE(${bank}, w.payee_bank)`
}

export function logOtherPayment(
  withdrawalId: string,
  stored: string | null,
  reported: string | null | undefined,
): void {
  if (!reported || reported === stored) return
  log().error(
    { withdrawalId, endToEndId: stored, otherEndToEndId: reported },
    'bank reported a second payment for a withdrawal',
  )
}
