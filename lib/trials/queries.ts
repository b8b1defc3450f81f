import type { GatewayResult } from '#lib/banks/gateway.ts'
import { refuse } from '#lib/core/errors.ts'
import { isUuid, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { maskPixKey, type PixKeyType } from '#lib/core/pix/pix-key.ts'
import type { Claim } from '#lib/db/claim.ts'
import { db, Prisma, type Tx } from '#lib/db/client.ts'
import { utc } from '#lib/db/columns.ts'
import { asJson, queryRows } from '#lib/db/rows.ts'
import type { Trial, TrialState } from '#lib/trials/schema.ts'
import { stepsOf, type TrialFacts } from '#lib/trials/states.ts'

type Row = Omit<Trial, 'steps' | 'key'> & {
  pix_key: string | null
  pix_key_type: PixKeyType | null
  facts: Omit<TrialFacts, 'status'>
}

/** The version before this one stores a text in `problem`. */
const columns = Prisma.sql`t.id, t.mode, t.status, t.amount, t.payout_amount, t.br_code,
  CASE WHEN t.problem IS NULL THEN COALESCE(t.problems, '[]') ELSE json_build_array(json_build_object(
    'code', 'other', 'params', json_build_object('text', t.problem))) END AS problems,
   t.pix_key, t.pix_key_type, ${utc('t.created_at')}, ${utc('t.expires_at')}, ${utc('t.ended_at')},
  json_build_object('hasCode', t.br_code IS NOT NULL, 'failure', t.failure,
    'isPaid', t.end_to_end_id IS NOT NULL, 'isNoticed', t.noticed_at IS NOT NULL,
    'isListed', t.listed_at IS NOT NULL, 'refundStatus', t.refund_status,
    'refundRejection', t.refund_rejection, 'hasKey', t.pix_key IS NOT NULL,
    'payoutStatus', t.payout_status, 'payoutRejection', t.payout_rejection,
    'isPaidBefore', t.payout_of IS NOT NULL) AS facts`

/** Returns the latest trial of a connection, or null. */
export async function findLatestTrial(connectionId: string, tx?: Tx): Promise<Trial | null> {
  const [row] = await queryRows<Row>(
    Prisma.sql`
      SELECT ${asJson(columns)}::text AS json FROM connection_trials t
      WHERE t.connection_id = ${connectionId}::uuid ORDER BY t.created_at DESC, t.id DESC LIMIT 1`,
    tx,
  )
  if (!row) return null
  const { facts, pix_key: key, pix_key_type: type, ...rest } = row
  return {
    ...rest,
    key: key && type && maskPixKey(type, key),
    steps: stepsOf({ status: row.status, ...facts }),
  }
}

/** Reads the latest trial of a connection, and whether a trial of it needs a PIX key. */
export async function readTrial(connectionId: string): Promise<TrialState> {
  const where = { id: connectionId, kind: { not: 'simulator' } }
  const connection = isUuid(connectionId)
    ? await db().connection.findFirst({ where, select: { payingKey: true } })
    : null
  if (!connection) throw refuse('connection_not_found')
  const latest = await findLatestTrial(connectionId)
  return { needs_key: connection.payingKey !== null, latest }
}

/** A trial that a worker has claimed, with what the next call needs. */
export interface ClaimedTrial {
  status: string
  amount: number
  /** Time since it began, since the code expired and since it was paid. */
  ageMs: number
  overdueMs: number
  paidMs: number
  endToEndId: string | null
  paidAt: Date | null
  isNoticed: boolean
  isListed: boolean
  refundId: string
  refundStatus: string | null
  pixKey: string | null
  pixKeyType: PixKeyType | null
  payoutId: string
  payoutStatus: string | null
  payoutAmount: number
  isPaidBefore: boolean
}

/** Returns null if the lease was lost. */
export async function findClaimedTrial({ id, lease }: Claim): Promise<ClaimedTrial | null> {
  const age = (from: string) =>
    Prisma.raw(`COALESCE(extract(epoch FROM clock_timestamp() - t.${from}) * 1000, 0)::float8`)
  const [row] = await db().$queryRaw<ClaimedTrial[]>`
    SELECT t.status, t.amount::int, ${age('created_at')} AS "ageMs",
      ${age('expires_at')} AS "overdueMs", ${age('received_at')} AS "paidMs",
      t.end_to_end_id AS "endToEndId", t.paid_at AS "paidAt",
      t.noticed_at IS NOT NULL AS "isNoticed", t.listed_at IS NOT NULL AS "isListed",
      t.refund_id AS "refundId", t.refund_status AS "refundStatus", t.pix_key AS "pixKey",
      t.pix_key_type AS "pixKeyType", t.payout_id AS "payoutId", t.payout_status AS "payoutStatus",
      t.payout_amount::int AS "payoutAmount", t.payout_of IS NOT NULL AS "isPaidBefore"
    FROM connection_trials t
    WHERE t.account_id = ${OPERATOR_ACCOUNT_ID}::uuid AND t.id = ${id}::uuid AND t.lease = ${lease}::uuid`
  return row ?? null
}

interface OpenOrder {
  /** It waits for longer than a sender takes. */
  isOverdue: boolean
  /** The last call about it that has ended, as it is journaled. */
  lastCall: GatewayResult<unknown> | null
}

/** Returns which of the orders have not ended, and what the bank answered last. */
export function findOpenOrders(ids: string[]): Promise<OpenOrder[]> {
  return db().$queryRaw<OpenOrder[]>`
    SELECT o.state = 'waiting' AND o.due_at < now() - interval '2 seconds' AS "isOverdue", g.call AS "lastCall"
    FROM bank_orders o LEFT JOIN LATERAL (
      SELECT jsonb_build_object('outcome', c.outcome)
        || CASE json_typeof(c.response) WHEN 'object' THEN c.response::jsonb ELSE '{}' END AS call
      FROM gateway_calls c WHERE c.account_id = o.account_id AND c.subject_id = o.id AND c.outcome IS NOT NULL
      ORDER BY c.created_at DESC, c.id DESC LIMIT 1) g ON true
    WHERE o.account_id = ${OPERATOR_ACCOUNT_ID}::uuid AND o.id = ANY (${ids}::uuid[])
      AND o.state IN ('waiting', 'placed')`
}
