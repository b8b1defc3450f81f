import { recordAudit } from '#lib/audit/record.ts'
import { maskDictKey } from '#lib/core/pix/pix-key.ts'
import { type Claim, nowPlusMs } from '#lib/db/claim.ts'
import { db, Prisma, type Tx } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/rows.ts'
import { columnsOf } from '#lib/db/statement.ts'
import { retryOnConflict, transaction } from '#lib/db/transaction.ts'
import { bookMovement } from '#lib/ledger/book.ts'
import { endOrderSql, insertOrderSql, type Order, type OrderRules } from '#lib/orders/order.ts'
import type { TrialProblem } from '#lib/trials/problems.ts'
import type { StepCode } from '#lib/trials/states.ts'

/** Longest text of a bank that is stored. */
const TEXT_MAX = 500
const PROBLEMS_MAX = 3

/** Condition that the claim still holds its trial. */
const isHeld = ({ accountId, id, lease }: Claim) => Prisma.sql`t.account_id = ${accountId}::uuid
  AND t.id = ${id}::uuid AND t.lease = ${lease}::uuid`

const shorten = (text: string) => text.replaceAll('\0', '').slice(0, TEXT_MAX)

/** Returns the assignments that replace the problems. */
function problemsSql(problems: TrialProblem[]): Prisma.Sql {
  const stored = problems.map(({ code, params }) =>
    JSON.stringify({ code, params: 'text' in params ? { text: shorten(`${params.text}`) } : {} }),
  )
  const list = [...new Set(stored)].slice(0, PROBLEMS_MAX).join()
  return Prisma.sql`problem = NULL, problems = ${`[${list}]`}::json`
}

/** Stores the code that the bank made. A payment may have come before it. */
export async function storeTrialCode(
  claim: Claim,
  brCode: string,
  lifetimeMs: number,
): Promise<void> {
  await db().$executeRaw`
    UPDATE connection_trials t SET br_code = ${brCode}, expires_at = ${nowPlusMs(lifetimeMs)},
      status = CASE t.status WHEN 'opening' THEN 'open' ELSE t.status END
    WHERE ${isHeld(claim)} AND t.br_code IS NULL`
}

/** Ends a trial that nobody has paid: what is paid later is a payment of no charge, for the differences. */
export function failTrial(
  claim: Claim,
  failure: StepCode,
  problems: TrialProblem[] = [],
): Promise<void> {
  return transaction(async tx => {
    const ended = await tx.$executeRaw`
      UPDATE connection_trials t SET status = 'failed', failure = ${failure}, ended_at = now(), due_at = NULL,
        lease = NULL, ${problemsSql(problems)}
      WHERE ${isHeld(claim)} AND t.status IN ('opening', 'open')`
    if (ended > 0) await recordEnd(tx, claim, failure)
  })
}

/** Ends a paid try whose orders have ended. It has passed if each step was done. */
export function endTrial(claim: Claim): Promise<void> {
  return transaction(async tx => {
    const [row] = await tx.$queryRaw<{ status: string }[]>`
      UPDATE connection_trials t SET ended_at = now(), due_at = NULL, lease = NULL,
        status = CASE WHEN t.noticed_at IS NOT NULL AND t.listed_at IS NOT NULL
          AND t.refund_status = 'completed'
          AND (t.pix_key IS NULL OR t.payout_of IS NOT NULL OR t.payout_status = 'completed')
          THEN 'passed' ELSE 'failed' END
      WHERE ${isHeld(claim)} AND t.status = 'paid' AND t.refund_status <> 'pending'
        AND t.payout_status IS DISTINCT FROM 'pending'
      RETURNING t.status`
    if (row) await recordEnd(tx, claim, row.status)
  })
}

async function recordEnd(tx: Tx, { connectionId: target, mode }: Claim, result: string) {
  const actor = { type: 'system' } as const
  await recordAudit(tx, { actor, action: 'connection.tried', target, after: { mode, result } })
}

/** Lets the next step wait. `problems`: why the calls of this one did not succeed. */
export async function postponeTrial(
  claim: Claim,
  pauseMs: number,
  problems: TrialProblem[] = [],
): Promise<void> {
  await db().$executeRaw`
    UPDATE connection_trials t SET due_at = ${nowPlusMs(pauseMs)}, lease = NULL,
      ${problemsSql(problems)}
    WHERE ${isHeld(claim)} AND t.ended_at IS NULL`
}

export async function noteListed(claim: Claim): Promise<void> {
  await db().$executeRaw`
    UPDATE connection_trials t SET listed_at = now() WHERE ${isHeld(claim)} AND t.listed_at IS NULL`
}

/**
 * Orders the payout, unless an earlier trial has paid the key through the connection and was not rejected:
 * then that payout counts. Stored before the bank is called.
 */
export async function orderTrialPayout(claim: Claim): Promise<void> {
  await db().$executeRaw`
    WITH made AS (
      UPDATE connection_trials t SET payout_of = e.id,
        payout_status = CASE WHEN e.id IS NULL THEN 'pending' END
      FROM (SELECT (SELECT o.id FROM connection_trials y JOIN connection_trials o ON o.connection_id = y.connection_id
          AND o.pix_key = y.pix_key AND o.id <> y.id AND o.payout_status <> 'rejected'
        WHERE y.account_id = ${claim.accountId}::uuid AND y.id = ${claim.id}::uuid LIMIT 1) AS id) e
      WHERE ${isHeld(claim)} AND t.status = 'paid' AND t.pix_key IS NOT NULL
        AND num_nonnulls(t.payout_status, t.payout_of) = 0
      RETURNING t.account_id, t.payout_id AS id, t.mode, t.connection_id, t.payout_amount AS amount, t.pix_key,
        t.payout_status)
    ${insertOrderSql(['trial', 'payout'], Prisma.sql`made s WHERE s.payout_status IS NOT NULL`, {
      target: Prisma.sql`s.pix_key`,
    })}`
}

/** What trials contribute to sending orders: lib/orders. */
export const trialOrders: OrderRules = {
  giveUpMs: 60 * 60_000,
  end: (order, reported, lease) =>
    reported.state === 'done'
      ? completeTrialOrder(order, reported.endToEndId, lease)
      : rejectTrialOrder(order, reported.bankText ?? reported.code, lease),
  async hide({ operation, target }) {
    return operation === 'payout' ? { [target]: maskDictKey(target) } : {}
  },
}

const nextStep = Prisma.sql`due_at = CASE WHEN t.lease IS NULL THEN now() ELSE t.due_at END`

/** Books what the bank has given back, or paid out, once: the row changes in the same statement. */
async function completeTrialOrder(
  order: Order,
  bankId: string,
  lease: string | null,
): Promise<boolean> {
  const isRefund = order.operation === 'refund'
  const statement = bookMovement({
    ctes: {
      ended: endOrderSql(order, 'done', { bankId, lease }),
      done: isRefund
        ? Prisma.sql`
            UPDATE connection_trials t SET refund_status = 'completed', return_id = ${bankId}, ${nextStep}
            FROM ended e WHERE t.account_id = e.account_id AND t.refund_id = e.id RETURNING t.*`
        : Prisma.sql`
            UPDATE connection_trials t SET payout_status = 'completed', payout_end_to_end_id = ${bankId}, ${nextStep}
            FROM ended e WHERE t.account_id = e.account_id AND t.payout_id = e.id RETURNING t.*`,
    },
    source: {
      from: Prisma.sql`done t`,
      columns: {
        ...columnsOf('t', ['account_id', 'mode', 'id', 'connection_id']),
        amount: isRefund ? Prisma.sql`t.amount` : Prisma.sql`t.payout_amount`,
      },
    },
    movement: isRefund ? 'trial_returned' : 'trial_sent',
    returning: Prisma.sql`json_build_object('id', t.id)`,
  })
  return (await retryOnConflict(() => queryRows(statement))).length > 0
}

/** Ends an order that moves nothing. Cents that are not given back stay with the operator. */
async function rejectTrialOrder(
  order: Order,
  rejection: string,
  lease: string | null,
): Promise<boolean> {
  const name = order.operation
  const [id, status] = [Prisma.raw(`t.${name}_id`), Prisma.raw(`${name}_status`)]
  const ended = await db().$executeRaw`
    WITH ended AS (${endOrderSql(order, 'refused', { lease })})
    UPDATE connection_trials t SET ${status} = 'rejected', ${Prisma.raw(`${name}_rejection`)} = ${shorten(rejection)},
      ${nextStep}
    FROM ended e WHERE t.account_id = e.account_id AND ${id} = e.id`
  return ended === 1
}
