import type { Claim } from '#lib/base/db/claim.ts'
import { db, Prisma } from '#lib/base/db/client.ts'
import { parseDatabaseError } from '#lib/base/errors.ts'
import { log } from '#lib/base/log.ts'
import type { OrderState, Party } from '#lib/services/gateway/gateway.ts'

type Taken = Extract<OrderState, { state: 'taken' }>

/**
 * Stores what the bank says about a payout that it has taken. Nothing is lost by a crash before: the
 * bank says it again. A worker that has lost the lease stores nothing.
 */
export async function recordTaken(claim: Claim, { endToEndId, payee }: Taken): Promise<void> {
  if (endToEndId === undefined && payee === undefined) return
  const { accountId, id, lease } = claim
  const reported = { id: endToEndId ?? null, name: payee?.name ?? null }
  const [row] = await db().$queryRaw<{ endToEndId: string | null }[]>`
      UPDATE withdrawals w SET ${paymentAssignments(reported.id, payee)},
        updated_at = now()
      WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid AND status = 'pending'
        AND lease = ${lease}::uuid AND (
          w.end_to_end_id IS NULL AND ${reported.id}::text IS NOT NULL
          OR w.end_to_end_id <> ${reported.id} AND w.other_end_to_end_id IS DISTINCT FROM ${reported.id}
          OR w.payee_name IS NULL AND ${reported.name}::text IS NOT NULL)
      RETURNING end_to_end_id AS "endToEndId"`.catch(error => {
    if (parseDatabaseError(error).constraint !== 'withdrawals_end_to_end_id_key') throw error
    log().error({ withdrawalId: id, endToEndId }, 'bank reported the payment of another withdrawal')
    return []
  })
  if (row) logOtherPayment(id, row.endToEndId, endToEndId)
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
