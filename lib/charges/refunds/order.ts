import {
  type BankRefusal,
  ENDED_UNSENT,
  type Rejection,
  rejectionAssignments,
} from '#lib/banks/gateway.ts'
import { decideRefund } from '#lib/banks/simulator.ts'
import { chargeColumns } from '#lib/charges/list.ts'
import { findRefund, refundAsJson } from '#lib/charges/refunds/queries.ts'
import type { RefundDecision, RefundRow } from '#lib/charges/refunds/schema.ts'
import { refuse } from '#lib/core/errors.ts'
import { newRoutableId, removeHyphens } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import { db, Prisma, retryOnConflict } from '#lib/db/client.ts'
import { asJson, columnsOf, queryRows } from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import { bookMovement } from '#lib/ledger/book.ts'
import { endOrderSql, type Order, type OrderRules, type PeoplesEnd } from '#lib/orders/order.ts'

interface Settlement {
  accountId: string
  refundId: string
  /** Lease of the worker that settles the refund. One that has lost the lease writes nothing. */
  lease?: string | null
  /** Set if people decide. After the commit of its transaction, the caller wakes the deliveries. */
  decision?: PeoplesEnd
}

/** What refunds contribute to sending orders: lib/orders. */
export const refundOrders: OrderRules = {
  async end({ accountId, id: refundId }, reported, lease) {
    const settlement = { accountId, refundId, lease }
    const row =
      reported.state === 'done'
        ? await completeRefund({ ...settlement, returnId: reported.endToEndId })
        : await rejectRefund({ ...settlement, reason: reported })
    return row !== null
  },
  async endByPeople({ accountId, id: refundId }, outcome, decision) {
    const settlement = { accountId, refundId, decision }
    const row =
      outcome === 'sent'
        ? await completeRefund({ ...settlement, returnId: null })
        : await rejectRefund({ ...settlement, reason: ENDED_UNSENT })
    return row !== null
  },
  async hide(order) {
    const { name, email, doc } = await readPayer(order)
    return { [name]: '***', [email]: '***', [doc]: '***' }
  },
  findPayerEmail: async order => (await readPayer(order)).email,
}

interface Payer {
  name: string
  email: string
  doc: string
}

async function readPayer({ accountId, id }: Order): Promise<Payer> {
  const [payer] = await db().$queryRaw<Payer[]>`
    SELECT c.client_name AS name, c.client_email AS email, c.client_doc AS doc FROM refunds r
    JOIN charges c ON c.account_id = r.account_id AND c.id = r.charge_id
    WHERE r.account_id = ${accountId}::uuid AND r.id = ${id}::uuid`
  if (!payer) throw new Invariant(`refund ${id} has no charge`)
  return payer
}

/** Debits the held amount after it was sent back. Returns null if already settled. */
export function completeRefund(
  settlement: Settlement & { returnId: string | null },
): Promise<RefundRow | null> {
  const assignments = Prisma.sql`return_id = ${settlement.returnId}`
  return settle(settlement, 'completed', assignments, settlement.returnId)
}

/** Releases the held amount, which was not sent. Returns null if already settled. */
export function rejectRefund(
  settlement: Settlement & { reason: Rejection | BankRefusal },
): Promise<RefundRow | null> {
  return settle(settlement, 'rejected', rejectionAssignments(settlement.reason), null)
}

/**
 * One statement with the lock order of all refunds: order, charge, refund, ledger, event sequence. The
 * event's subject is the charge, so it is delivered after the payment event.
 */
async function settle(
  { accountId, refundId: id, lease, decision }: Settlement,
  outcome: 'completed' | 'rejected',
  assignments: Prisma.Sql,
  bankId: string | null,
): Promise<RefundRow | null> {
  const isDone = outcome === 'completed'
  const refunded = Prisma.raw(isDone ? 's.amount' : '0')
  const eventId = newRoutableId(accountId)
  const end = { bankId, lease, ...decision }
  const statement = bookMovement({
    ctes: {
      ended: endOrderSql({ accountId, id }, isDone ? 'done' : 'refused', end),
      locked: Prisma.sql`
        SELECT c.account_id, c.id, r.id AS refund_id FROM ended e
        JOIN refunds r ON r.account_id = e.account_id AND r.id = e.id
        JOIN charges c ON c.account_id = r.account_id AND c.id = r.charge_id
        FOR UPDATE OF c`,
      settled: Prisma.sql`
        UPDATE refunds r SET status = ${outcome}, ${assignments},
          ${Prisma.raw(`${outcome}_at`)} = now(), updated_at = now()
        FROM locked k WHERE r.account_id = k.account_id AND r.id = k.refund_id
        RETURNING r.*`,
      charged: Prisma.sql`
        UPDATE charges c SET refunded_amount = c.refunded_amount + ${refunded},
          refund_held_amount = c.refund_held_amount - s.amount, updated_at = now()
        FROM settled s WHERE c.account_id = s.account_id AND c.id = s.charge_id
        RETURNING c.*`,
    },
    source: {
      from: Prisma.sql`charged c JOIN settled r ON r.account_id = c.account_id AND r.charge_id = c.id`,
      columns: {
        ...columnsOf('r', ['account_id', 'mode', 'id', 'amount', 'trace']),
        event_id: Prisma.sql`${eventId}::uuid`,
        subject_id: Prisma.sql`c.id`,
        ...columnsOf('c', ['connection_id', 'webhook_url', 'webhook_host']),
        resource: asJson(Prisma.sql`${chargeColumns}, ${refundAsJson} AS refund`),
      },
    },
    movement: isDone ? 'refund_sent' : 'refund_returned',
    event: isDone ? 'transaction.refunded' : 'transaction.refund_failed',
    returning: refundAsJson,
  })
  if (decision) {
    const [row] = await queryRows<RefundRow>(statement, decision.tx)
    return row ?? null
  }
  const [row] = await retryOnConflict(() => queryRows<RefundRow>(statement))
  if (row) wake('deliveries')
  return row ?? null
}

/**
 * The first decision is final, and stored first: after a crash, the worker settles the refund. `isResumed`:
 * an earlier process died during this request and may already have decided.
 */
export async function simulateRefund(
  accountId: string,
  requestedId: string,
  { outcome, reason }: RefundDecision,
  isResumed = false,
): Promise<RefundRow> {
  const refund = await findRefund(accountId, 'test', null, requestedId)
  if (!refund) throw refuse('refund_not_found')
  // The bank knows the stored id: one in capitals would be another order.
  const { id } = refund
  if (isResumed && refund.status === outcome) return refund
  if (refund.status !== 'pending') throw alreadyFinal(refund)
  const isDone = outcome === 'completed'
  const { state, isAccepted } = await decideRefund(removeHyphens(id), refund.amount, isDone, reason)
  const settlement = { accountId, refundId: id }
  const settled =
    state.state === 'done'
      ? await completeRefund({ ...settlement, returnId: state.endToEndId })
      : state.state === 'refused' && (await rejectRefund({ ...settlement, reason: state }))
  // The worker or another request has settled it.
  const ended = settled || ((await findRefund(accountId, 'test', null, id)) ?? refund)
  if (ended.status === outcome && (isAccepted || isResumed)) return ended
  throw alreadyFinal(ended)
}

function alreadyFinal({ status }: RefundRow) {
  return refuse('already_final', { subject: 'Refund', status })
}
