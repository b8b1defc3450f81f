import { idLowerBoundAt, idUpperBoundAt } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { Prisma } from '#lib/db/client.ts'
import { asJson, queryRows, utc } from '#lib/db/sql.ts'
import type { Candidate } from '#lib/operator/differences/schema.ts'

const DAY_MS = 86_400_000
/** A code is paid within days of its creation; the bank's clock may be behind. */
const BEFORE_MS = 7 * DAY_MS
const AFTER_MS = DAY_MS
const CANDIDATES_MAX = 10

export type CandidateRow = Omit<Candidate, 'payer'> & { doc: string }

interface Payment {
  mode: Mode
  amount: number
  paidAt: string
  connectionId: string
  /** Document of the payer of the charge that the payment named. */
  doc: string | undefined
}

/**
 * Lists unpaid charges that the payment may have been meant for: of its connection and amount, created in
 * the week before it. Those of the same payer first, then the nearest in time. Reads an index of each
 * account in the range of ids of these days, not the table.
 */
export function listCandidates(payment: Payment): Promise<CandidateRow[]> {
  const { mode, amount, paidAt, connectionId, doc = null } = payment
  const at = Date.parse(paidAt)
  const columns = Prisma.sql`c.id, json_build_object('id', a.id, 'name', a.name) AS account, c.status,
    c.amount, ${utc('c.created_at')}, c.client_doc AS doc, c.client_doc IS NOT DISTINCT FROM ${doc}
      AS is_same_payer`
  return queryRows(Prisma.sql`
    SELECT ${asJson(columns)}::text AS json
    FROM accounts a CROSS JOIN LATERAL (
      SELECT c.* FROM charges c
      WHERE c.account_id = a.id AND c.mode = ${mode} AND c.amount = ${amount}::bigint
        AND c.id >= ${idLowerBoundAt(at - BEFORE_MS)}::uuid
        AND c.id < ${idUpperBoundAt(at + AFTER_MS)}::uuid
        AND c.status IN ('pending', 'expired', 'failed')
        AND c.connection_id = ${connectionId}::uuid
      ORDER BY c.id DESC LIMIT ${CANDIDATES_MAX}) c
    ORDER BY c.client_doc IS NOT DISTINCT FROM ${doc} DESC,
      abs(extract(epoch FROM c.created_at - ${paidAt}::timestamptz)), c.id
    LIMIT ${CANDIDATES_MAX}`)
}
