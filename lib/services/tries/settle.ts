import { recordAudit } from '#lib/base/audit/record.ts'
import { type Claim, leaseMs, nowPlusMs } from '#lib/base/db/claim.ts'
import { db, Prisma, type Tx } from '#lib/base/db/client.ts'
import { queryRows } from '#lib/base/db/rows.ts'
import { columnsOf } from '#lib/base/db/statement.ts'
import { retryOnConflict, transaction } from '#lib/base/db/transaction.ts'
import { bookMovement } from '#lib/services/booking/book.ts'
import type { TryProblem } from '#lib/services/tries/problems.ts'
import type { StepCode } from '#lib/services/tries/states.ts'

/** Longest text of a bank that is stored. */
const TEXT_MAX = 500
const PROBLEMS_MAX = 3

/** Condition that the claim still holds its try. */
const isHeld = ({ accountId, id, lease }: Claim) => Prisma.sql`t.account_id = ${accountId}::uuid
  AND t.id = ${id}::uuid AND t.lease = ${lease}::uuid`

const shorten = (text: string) => text.replaceAll('\0', '').slice(0, TEXT_MAX)

/** Returns the assignments that replace the problems. */
function problemsSql(problems: TryProblem[]): Prisma.Sql {
  const stored = problems.map(({ code, params }) =>
    JSON.stringify({ code, params: 'text' in params ? { text: shorten(`${params.text}`) } : {} }),
  )
  const list = [...new Set(stored)].slice(0, PROBLEMS_MAX).join()
  return Prisma.sql`problem = NULL, problems = ${`[${list}]`}::json`
}

/** Stores the code that the bank made. A payment may have come before it. */
export async function storeTryCode(
  claim: Claim,
  brCode: string,
  lifetimeMs: number,
): Promise<void> {
  await db().$executeRaw`
    UPDATE bank_tries t SET br_code = ${brCode}, expires_at = ${nowPlusMs(lifetimeMs)},
      status = CASE t.status WHEN 'opening' THEN 'open' ELSE t.status END
    WHERE ${isHeld(claim)} AND t.br_code IS NULL`
}

/** Ends a try that nobody has paid: what is paid later is a payment of no charge, for the inbox. */
export function failTry(
  claim: Claim,
  failure: StepCode,
  problems: TryProblem[] = [],
): Promise<void> {
  return transaction(async tx => {
    const ended = await tx.$executeRaw`
      UPDATE bank_tries t SET status = 'failed', failure = ${failure}, ended_at = now(), due_at = NULL,
        lease = NULL, ${problemsSql(problems)}
      WHERE ${isHeld(claim)} AND t.status IN ('opening', 'open')`
    if (ended > 0) await recordEnd(tx, claim, failure)
  })
}

/** Ends a paid try whose orders have ended. It has passed if each step was done. */
export function endTry(claim: Claim): Promise<void> {
  return transaction(async tx => {
    const [row] = await tx.$queryRaw<{ status: string }[]>`
      UPDATE bank_tries t SET ended_at = now(), due_at = NULL, lease = NULL,
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
export async function postponeTry(
  claim: Claim,
  pauseMs: number,
  problems: TryProblem[] = [],
): Promise<void> {
  await db().$executeRaw`
    UPDATE bank_tries t SET due_at = ${nowPlusMs(pauseMs)}, lease = NULL,
      ${problemsSql(problems)}
    WHERE ${isHeld(claim)} AND t.ended_at IS NULL`
}

export async function noteListed(claim: Claim): Promise<void> {
  await db().$executeRaw`
    UPDATE bank_tries t SET listed_at = now() WHERE ${isHeld(claim)} AND t.listed_at IS NULL`
}

/**
 * Orders the payout, unless an earlier try has paid the key through the connection and was not rejected:
 * then that payout counts. Stored before the bank is called.
 */
export async function orderTryPayout(claim: Claim): Promise<void> {
  await db().$executeRaw`
    UPDATE bank_tries t SET payout_of = e.id,
      payout_status = CASE WHEN e.id IS NULL THEN 'pending' END
    FROM (SELECT (SELECT o.id FROM bank_tries y JOIN bank_tries o ON o.connection_id = y.connection_id
        AND o.pix_key = y.pix_key AND o.id <> y.id AND o.payout_status <> 'rejected'
      WHERE y.account_id = ${claim.accountId}::uuid AND y.id = ${claim.id}::uuid LIMIT 1) AS id) e
    WHERE ${isHeld(claim)} AND t.status = 'paid' AND t.pix_key IS NOT NULL
      AND num_nonnulls(t.payout_status, t.payout_of) = 0`
}

/** Takes the place of the payout, within the transaction that has counted the others. */
export async function holdTryPlace(tx: Tx, claim: Claim, placeMs: number): Promise<boolean> {
  const held = await tx.$executeRaw`
    UPDATE bank_tries t SET due_at = ${nowPlusMs(leaseMs())},
      place_until = clock_timestamp() + ${placeMs}::float8 * interval '1 millisecond'
    WHERE ${isHeld(claim)} AND t.payout_status = 'pending'
      AND (t.place_until IS NULL OR t.place_until <= clock_timestamp())`
  return held === 1
}

export async function releaseTryPlace(claim: Claim): Promise<void> {
  await db().$executeRaw`UPDATE bank_tries t SET place_until = NULL WHERE ${isHeld(claim)}`
}

/** Books what the bank has given back, or paid out, once: the row changes in the same statement. */
export async function completeTryOrder(
  claim: Claim,
  order: 'refund' | 'payout',
  bankId: string,
): Promise<void> {
  const isRefund = order === 'refund'
  const statement = bookMovement({
    ctes: {
      done: isRefund
        ? Prisma.sql`
            UPDATE bank_tries t SET refund_status = 'completed', return_id = ${bankId}
            WHERE ${isHeld(claim)} AND t.refund_status = 'pending' RETURNING t.*`
        : Prisma.sql`
            UPDATE bank_tries t SET payout_status = 'completed', payout_end_to_end_id = ${bankId},
              place_until = NULL
            WHERE ${isHeld(claim)} AND t.payout_status = 'pending' RETURNING t.*`,
    },
    source: {
      from: Prisma.sql`done t`,
      columns: {
        ...columnsOf('t', ['account_id', 'mode', 'id', 'connection_id']),
        amount: isRefund ? Prisma.sql`t.amount` : Prisma.sql`t.payout_amount`,
      },
    },
    movement: isRefund ? 'try_returned' : 'try_sent',
    returning: Prisma.sql`json_build_object('id', t.id)`,
  })
  await retryOnConflict(() => queryRows(statement))
}

/** Ends an order that moves nothing. Cents that are not given back stay with the house. */
export async function rejectTryOrder(
  claim: Claim,
  order: 'refund' | 'payout',
  rejection: string,
): Promise<void> {
  const status = Prisma.raw(`${order}_status`)
  const column = Prisma.raw(`${order}_rejection`)
  await db().$executeRaw`
    UPDATE bank_tries t SET ${status} = 'rejected', ${column} = ${shorten(rejection)}, place_until = NULL
    WHERE ${isHeld(claim)} AND t.${status} = 'pending'`
}
