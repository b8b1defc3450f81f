import { findAddressed } from '#lib/charges/list.ts'
import { refundAsJson } from '#lib/charges/refunds/queries.ts'
import type { RefundRequest, RefundRow } from '#lib/charges/refunds/schema.ts'
import { parseDatabaseRefusal, refuse, type TrocoError } from '#lib/core/errors.ts'
import { isUuid, newRoutableId } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import { REFUND_WINDOW_DAYS } from '#lib/core/pix/refund-window.ts'
import { currentCause } from '#lib/core/trace.ts'
import { Prisma } from '#lib/db/client.ts'
import type { IdempotentRequest } from '#lib/db/idempotency.ts'
import { type Authority, accountIdOf, accountSql, columnsOf, writeRows } from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import { bookMovement, refuseOverdraft } from '#lib/ledger/book.ts'
import { insertOrderSql } from '#lib/orders/order.ts'

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

/**
 * Inserts the refund and holds its amount in one statement before the bank is called: a crash
 * leaves all or nothing. Locks the charge first, then reads its disputes, so that refunds never exceed
 * what is left of the payment. A broken rule aborts the statement: prisma/functions/troco_refuse.sql.
 */
export async function createRefund(
  account: Authority,
  mode: Mode,
  chargeIdOrReference: string,
  { amount, reason, by }: RefundRequest & { by?: string | null },
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
        SELECT c.account_id, c.id, c.status, c.paid_at,
          c.amount - c.refunded_amount - c.refund_held_amount - c.returned_amount AS unspent
        FROM charges c WHERE c.account_id = ${accountSql(account)} AND c.mode = ${mode}
          AND c.id = ${chargeId}::uuid AND c.status <> 'opening' FOR UPDATE`,
      counted: remainingSql,
      judged: Prisma.sql`
        SELECT k.account_id, k.id, CASE
            WHEN k.id IS NULL THEN troco_refuse('transaction_not_found')
            WHEN k.status <> 'paid' THEN troco_refuse('not_paid')
            WHEN k.paid_at < now() - make_interval(days => ${REFUND_WINDOW_DAYS}::int)
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
          trace)
        SELECT account_id, ${id}::uuid, id, mode, connection_id, 'pending', amount,
          ${reason ?? null}, ${currentCause()} FROM charged
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
