import { ENDED_UNSENT } from '#lib/banks/gateway.ts'
import { parseDatabaseError } from '#lib/core/errors.ts'
import { log } from '#lib/core/log.ts'
import { maskDictKey } from '#lib/core/pix/pix-key.ts'
import { maskTaxId, normalizeTaxId } from '#lib/core/pix/tax-id.ts'
import { db } from '#lib/db/client.ts'
import type { Order, OrderRules, TakenState } from '#lib/orders/order.ts'
import {
  approveWithdrawal,
  endAsReported,
  logOtherPayment,
  paymentAssignments,
  rejectWithdrawal,
} from '#lib/withdrawals/outcome.ts'

/** Withdrawals of an inactive account are sent at most this long after its activation. */
const INACTIVE_PAUSE_MS = 15_000

/** What withdrawals contribute to sending orders: lib/orders. */
export const withdrawalOrders: OrderRules = {
  async end({ accountId, id }, reported, lease) {
    return (await endAsReported(accountId, id, reported, lease)) !== null
  },
  async endByPeople({ accountId, id }, outcome, { tx, condition, assignments }) {
    const decision = { condition, ofOrder: assignments }
    const settlement = { accountId, withdrawalId: id, tx, decision }
    const row =
      outcome === 'sent'
        ? await approveWithdrawal({ ...settlement, endToEndId: null })
        : await rejectWithdrawal({ ...settlement, reason: ENDED_UNSENT })
    return row !== null
  },
  take: recordTaken,
  async pauseMs({ accountId }) {
    const account = await db().account.findUnique({ where: { id: accountId } })
    return account?.status === 'active' ? null : INACTIVE_PAUSE_MS
  },
  hide: findHidden,
}

/**
 * Stores the payment and the receiver as the bank names them. Nothing is lost by a crash before: the
 * bank reports them again.
 */
async function recordTaken(
  { accountId, id }: Order,
  { endToEndId, payee }: TakenState,
): Promise<void> {
  if (endToEndId === undefined && payee === undefined) return
  const reported = { id: endToEndId ?? null, name: payee?.name ?? null }
  const [row] = await db().$queryRaw<{ endToEndId: string | null }[]>`
      UPDATE withdrawals w SET ${paymentAssignments(reported.id, payee)},
        updated_at = now()
      WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid AND status = 'pending' AND (
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

async function findHidden({
  accountId,
  id,
  target,
  ownerDoc,
}: Order): Promise<Record<string, string>> {
  const where = { accountId_id: { accountId, id } }
  const row = await db().withdrawal.findUnique({ where, select: { payeeName: true } })
  return {
    ...(ownerDoc && { [normalizeTaxId(ownerDoc)]: maskTaxId(ownerDoc) }),
    [target]: maskDictKey(target),
    ...(row?.payeeName && { [row.payeeName]: '***' }),
  }
}
