import {
  type BankRefusal,
  ENDED_UNSENT,
  type Rejection,
  rejectionAssignments,
} from '#lib/banks/gateway.ts'
import { decideRefund } from '#lib/banks/simulator.ts'
import { chargeColumns, findAddressed } from '#lib/charges/list.ts'
import type { RefundDecision, RefundRequest, RefundRow } from '#lib/charges/refunds/schema.ts'
import { REFUND_WINDOW_DAYS } from '#lib/charges/states.ts'
import { parseDatabaseRefusal, refuse, type TrocoError } from '#lib/core/errors.ts'
import type { ListQuery } from '#lib/core/fields.ts'
import { isUuid, newRoutableId, removeHyphens } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import { currentCause } from '#lib/core/trace.ts'
import { db, Prisma, retryOnConflict } from '#lib/db/client.ts'
import type { IdempotentRequest } from '#lib/db/idempotency.ts'
import { type Page, pageSql, readPage } from '#lib/db/page.ts'
import {
  type Authority,
  accountIdOf,
  accountSql,
  asJson,
  columnsOf,
  onPrimary,
  queryRows,
  utc,
  writeRows,
} from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import { bookMovement, refuseOverdraft } from '#lib/ledger/book.ts'
import {
  endOrderSql,
  insertOrderSql,
  type Order,
  type OrderRules,
  type PeoplesEnd,
} from '#lib/orders/order.ts'

/**
 * Selects from the locked charge `k` and adds what remains to refund: without what refunds take or hold
 * (`unspent`), what is disputed and what was lost. The function prisma/functions/troco_disputed.sql sees a
 * dispute that was opened while the statement waited for the lock.
 */
const remainingSql = Prisma.sql`
  SELECT k.*, d.disputed, d.lost, k.unspent - d.disputed - d.lost AS remaining
  FROM locked k CROSS JOIN LATERAL troco_disputed(k.account_id, k.id) d`

/** Refuses an amount above what remains. It is negative if a dispute was opened while a refund was held. */
function refuseAboveRemaining(params: Record<string, string | number>): TrocoError {
  const remaining = Number(params.remaining)
  const rule = describeLimit(remaining, Number(params.disputed), Number(params.lost))
  return refuse('refund_exceeds_remainder', { rule })
}

function describeLimit(remaining: number, disputed: number, lost: number): string {
  if (remaining > 0) return `must be at most ${remaining}, the amount left to refund`
  if (remaining + disputed > 0)
    return 'cannot be refunded while the payer disputes the charge: try again when the dispute has ended'
  const causes = lost > 0 ? 'refunds and lost disputes' : 'refunds'
  return `cannot be refunded: ${causes} already cover the whole charge`
}

/** `externalId`: the merchant's id, unique per charge, of a refund by API Pix. */
type RefundOrder = RefundRequest & { by?: string | null; externalId?: string }

/**
 * Inserts the refund and holds its amount in one statement before the bank is called: a crash
 * leaves all or nothing. Locks the charge first, then reads its disputes, so that refunds never exceed
 * what is left of the payment. A broken rule aborts the statement: prisma/functions/troco_refuse.sql.
 * In test mode time may have been moved: prisma/functions/troco_test_now.sql.
 */
export async function createRefund(
  account: Authority,
  mode: Mode,
  chargeIdOrReference: string,
  { amount, reason, by, externalId }: RefundOrder,
  once?: IdempotentRequest,
): Promise<RefundRow> {
  const accountId = accountIdOf(account)
  const chargeId = isUuid(chargeIdOrReference)
    ? chargeIdOrReference
    : (await findAddressed(accountId, mode, chargeIdOrReference)).id
  const id = once?.id ?? newRoutableId(accountId)
  const requestedAmount = Prisma.sql`${amount ?? null}::bigint`
  const statement = bookMovement({
    idempotency: once,
    ctes: {
      locked: Prisma.sql`
        SELECT c.account_id, c.id, c.mode, c.status, c.paid_at,
          c.amount - c.refunded_amount - c.refund_held_amount - c.returned_amount AS unspent
        FROM charges c WHERE ${accountSql(account)} IS NOT NULL AND c.account_id = ${accountId}::uuid AND c.mode = ${mode}
          AND c.id = ${chargeId}::uuid AND c.status <> 'opening' FOR UPDATE`,
      counted: remainingSql,
      judged: Prisma.sql`
        SELECT k.account_id, k.id, CASE
            WHEN k.id IS NULL THEN troco_refuse('transaction_not_found')
            WHEN k.status <> 'paid' THEN troco_refuse('not_paid')
            WHEN k.paid_at < troco_test_now(k.account_id, k.mode, k.paid_at)
                - make_interval(days => ${REFUND_WINDOW_DAYS}::int)
              THEN troco_refuse('refund_window_closed')
            WHEN COALESCE(${requestedAmount}, 1) > k.remaining
              THEN troco_refuse('above_remaining', json_build_object(
                'remaining', k.remaining, 'disputed', k.disputed, 'lost', k.lost))
            ELSE COALESCE(${requestedAmount}, k.remaining) END AS amount
        FROM (SELECT) one LEFT JOIN counted k ON true`,
      charged: Prisma.sql`
        UPDATE charges c SET refund_held_amount = c.refund_held_amount + j.amount, updated_at = now()
        FROM judged j WHERE c.account_id = j.account_id AND c.id = j.id
        RETURNING c.account_id, c.id, c.mode, c.connection_id, c.end_to_end_id, j.amount`,
      made: Prisma.sql`
        INSERT INTO refunds (account_id, id, charge_id, mode, connection_id, status, amount, reason,
          external_id, trace)
        SELECT account_id, ${id}::uuid, id, mode, connection_id, 'pending', amount,
          ${reason ?? null}, ${externalId ?? null}, ${currentCause()} FROM charged
        RETURNING *`,
      ordered: insertOrderSql(['refund', 'refund'], Prisma.sql`made s CROSS JOIN charged c`, {
        target: Prisma.sql`c.end_to_end_id`,
        trace: Prisma.sql`s.trace`,
      }),
    },
    source: {
      from: Prisma.sql`made r`,
      columns: {
        ...columnsOf('r', ['account_id', 'mode', 'id', 'amount']),
      },
    },
    movement: 'refund_held',
    audit: { action: 'refund.requested', by },
    returning: refundAsJson,
  })
  const [row] = await writeRows<RefundRow>(account, statement).catch(refuseBrokenRule)
  if (!row) throw new Invariant('the statement that inserts a refund returned no row')
  wake('orders')
  return row
}

const RULE_ERRORS: Record<string, () => TrocoError> = {
  transaction_not_found: () => refuse('transaction_not_found'),
  not_paid: () => refuse('not_paid'),
  refund_window_closed: () => refuse('refund_window_closed', { days: REFUND_WINDOW_DAYS }),
}

function refuseBrokenRule(error: unknown): never {
  const refusal = parseDatabaseRefusal(error)
  if (!refusal) return refuseOverdraft(error)
  const ruleError = RULE_ERRORS[refusal.code]
  if (ruleError) throw ruleError()
  throw refuseAboveRemaining(refusal.params)
}

/** Columns of a RefundRow in wire order, from a table or CTE named `r`. */
export const refundColumns = Prisma.sql`
  r.id, r.charge_id AS transaction_id, r.amount, r.status, r.reason, ${utc('r.created_at')},
  r.mode, r.rejection_reason, r.rejection_code, r.return_id, ${utc('r.completed_at')}, ${utc('r.rejected_at')},
  ${utc('r.updated_at')}`

export const refundAsJson = asJson(refundColumns)

/** Returns a refund of the charge, or of any. */
export async function findRefund(
  accountId: string,
  mode: Mode,
  chargeId: string | null,
  id: string,
): Promise<RefundRow | null> {
  if (!isUuid(id)) return null
  const ofCharge = chargeId ? Prisma.sql`AND r.charge_id = ${chargeId}::uuid` : Prisma.empty
  const [row] = await queryRows<RefundRow>(Prisma.sql`
    SELECT ${refundAsJson}::text AS json FROM refunds r
    WHERE ${onPrimary} AND r.account_id = ${accountId}::uuid AND r.mode = ${mode} AND r.id = ${id}::uuid ${ofCharge}`)
  return row ?? null
}

/** Returns the refund as in the response to its creation, regardless of its current status. */
export async function readCreatedRefund(
  accountId: string,
  mode: Mode,
  id: string,
): Promise<RefundRow> {
  const [row] = await queryRows<RefundRow>(Prisma.sql`
    SELECT ${refundAsJson}::text AS json FROM refunds r
    WHERE ${onPrimary} AND r.account_id = ${accountId}::uuid AND r.mode = ${mode} AND r.id = ${id}::uuid`)
  if (!row) throw new Invariant(`refund ${id} was acknowledged but is missing`)
  return { ...row, status: 'pending' }
}

/** Lists the refunds of a charge, or of all. */
export function listRefunds(
  accountId: string,
  mode: Mode,
  chargeId: string | null,
  query: ListQuery,
): Promise<Page<RefundRow>> {
  const ofCharge = chargeId ? Prisma.sql`AND r.charge_id = ${chargeId}::uuid` : Prisma.empty
  const rows = Prisma.sql`
    SELECT ${refundAsJson}::text AS json FROM refunds r
    WHERE ${onPrimary} AND r.account_id = ${accountId}::uuid AND r.mode = ${mode} ${ofCharge}
      ${pageSql('r', query)}`
  return readPage<RefundRow>(rows, query.limit)
}

interface Settlement {
  accountId: string
  refundId: string
  /** Lease of the worker that settles the refund. One that has lost the lease writes nothing. */
  lease?: string | null
  /** Set if people decide. After the commit of its transaction, the caller wakes the deliveries. */
  decision?: PeoplesEnd
}

/** Rules by which lib/orders sends and ends refunds. */
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
        resource: asJson(
          Prisma.sql`${chargeColumns}, ${refundAsJson} AS refund, r.external_id AS refund_reference`,
        ),
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
