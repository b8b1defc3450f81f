import type { ChargeStatus } from '#lib/charges/states.ts'
import type { Mode } from '#lib/core/mode.ts'
import { Prisma } from '#lib/db/client.ts'
import { asJson, queryRows, utc } from '#lib/db/sql.ts'

/** Data of a charge for anyone with its URL: nothing about the payer. */
export interface PayableCharge {
  account_id: string
  id: string
  mode: Mode
  status: ChargeStatus
  amount: number
  br_code: string | null
  reference: string | null
  expires_at: string
  cancelled_at: string | null
  /** By the database's clock; negative after expiry. */
  seconds_left: number
  paid_at: string | null
  end_to_end_id: string | null
  /** What went back to the payer, also by the bank itself. */
  refunded_amount: number
  is_returned: boolean
  is_viewed: boolean
  /** Written by a member for the payer. */
  description: string | null
  merchant: string
  time_zone: string
}

/** Null if generated or if it contains the payer's e-mail, name, document or phone. */
const REFERENCE = Prisma.sql`
  CASE WHEN c.external_id = c.txid OR strpos(c.external_id, '@') > 0
    OR strpos(lower(c.external_id), lower(c.client_name)) > 0
    OR strpos(upper(regexp_replace(c.external_id, '[^[:alnum:]]', '', 'g')),
      upper(regexp_replace(c.client_doc, '[^[:alnum:]]', '', 'g'))) > 0
    OR strpos(regexp_replace(c.external_id, '\\D', '', 'g'),
      nullif(right(regexp_replace(c.client_phone, '\\D', '', 'g'), 8), '')) > 0
  THEN NULL ELSE c.external_id END AS reference`

/**
 * Finds the charge of a payer's page by txid, its only key that is unique across accounts. Fails on a
 * standby, which may lack it (prisma/functions/troco_refuse_caller.sql).
 */
export async function readPayableCharge(txids: string[]): Promise<PayableCharge | null> {
  const columns = Prisma.sql`
    c.account_id, c.id, c.mode, c.status, c.amount, c.br_code, ${REFERENCE}, ${utc('c.expires_at')},
    ceil(extract(epoch FROM c.expires_at - now()))::int AS seconds_left, ${utc('c.paid_at')},
    ${utc('c.cancelled_at')},
    c.end_to_end_id, c.refunded_amount + c.returned_amount AS refunded_amount,
    c.returned_amount > 0 AS is_returned, c.viewed_at IS NOT NULL AS is_viewed, a.name AS merchant,
    a.time_zone, c.description`
  const [row] = await queryRows<PayableCharge | null>(Prisma.sql`
    SELECT CASE WHEN pg_is_in_recovery() THEN troco_refuse_caller()::text ELSE (
      SELECT ${asJson(columns)}::text FROM charges c JOIN accounts a ON a.id = c.account_id
      WHERE c.txid = ANY(${txids}) AND c.status <> 'opening') END AS json`)
  return row ?? null
}
