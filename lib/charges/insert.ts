// Over the line limit: the statement of a charge and that of a repeated reference must stay equal.

import type { ChargeOrder, OpenedCharge } from '#lib/banks/gateway.ts'
import type { ChargeRequest } from '#lib/charges/schema.ts'
import { parseDatabaseError, parseDatabaseRefusal, refuse } from '#lib/core/errors.ts'
import type { Mode } from '#lib/core/mode.ts'
import { cents } from '#lib/core/money.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { type IdempotentRequest, storeKeySql } from '#lib/db/idempotency.ts'
import { type AccountRef, accountSql, joinCtes, writeRows } from '#lib/db/sql.ts'
import { hostOf } from '#lib/webhooks/target.ts'

/** Age at which the worker cancels an opening that never finished. */
const OPENING_TIMEOUT_S = 60
/** The time at which the worker ends an opening that began, or was resumed, now. */
export const openingEndSql = Prisma.sql`now() + ${OPENING_TIMEOUT_S} * interval '1 second'`

/** A charge before the bank is called. Its ids are fixed: a retry creates no second charge. */
export interface NewCharge {
  accountId: string
  /** Account for the first statement, which may have to verify the caller (`proof`). */
  account: AccountRef
  id: string
  mode: Mode
  connectionId: string
  request: ChargeRequest
  webhookMasked?: boolean
  ip: string | null
  order: ChargeOrder
  once: IdempotentRequest | undefined
}

/** Inserts a charge and its idempotency key. Not yet opened, it has the status `opening`: hidden. */
export async function insertCharge(
  charge: NewCharge,
  opened: OpenedCharge | null,
  queryAgesMs?: readonly number[],
): Promise<void> {
  const { request, order, once } = charge
  if (charge.mode === 'live') await refuseOverLimit(charge.accountId, request.amount)
  const lifetimeS = order.expiresInSeconds
  const dueInS = opened ? firstDueS(opened, queryAgesMs, lifetimeS) : OPENING_TIMEOUT_S
  const insert = (slot?: Prisma.Sql) => Prisma.sql`
    INSERT INTO charges (account_id, id, mode, connection_id, status, amount, external_id, txid, br_code,
      client_name, client_email, client_doc, client_phone, webhook_url, webhook_host, ip,
      metadata, utms, items, webhook_masked, expires_at, due_at ${slot ? Prisma.sql`, external_id_slot` : Prisma.empty})
    VALUES (${accountSql(charge.account)}, ${charge.id}::uuid, ${charge.mode}, ${charge.connectionId}::uuid,
      ${opened ? 'pending' : 'opening'}, ${request.amount}::bigint,
      ${request.external_id ?? order.txid}, ${order.txid}, ${opened?.brCode ?? null},
      ${request.client_name}, ${request.client_email}, ${request.client_doc},
      ${request.client_phone ?? null}, ${request.webhook_url ?? null},
      ${hostOf(request.webhook_url)}, ${charge.ip},
      ${json(request.metadata)}::json, ${json(request.utms)}::json, ${json(request.items)}::json,
      ${charge.webhookMasked ?? false},
      now() + make_interval(secs => ${lifetimeS}::float8),
      now() + make_interval(secs => ${dueInS}::float8) ${slot ? Prisma.sql`, ${slot}` : Prisma.empty})`
  const keySql = storeKeySql(once, opened === null)
  const withKey = (made: Prisma.Sql) =>
    keySql ? Prisma.sql`WITH ${joinCtes({ kept: keySql, made })} SELECT 'null' AS json` : made
  await writeRows(charge.account, withKey(insert())).catch(error => {
    if (!isDuplicateReference(error)) throw error
    const slot = repetitionSlotSql(charge.accountId)
    return writeRows(charge.account, withKey(insert(slot))).catch(refuseDuplicateReference)
  })
}

/**
 * Null if the account allows repetitions, otherwise a refusal. The lock keeps the setting until the row
 * is committed: who switches it off waits, and then sees the row (prisma/functions/troco_refuse.sql).
 */
function repetitionSlotSql(accountId: string): Prisma.Sql {
  return Prisma.sql`(SELECT CASE WHEN NOT a.repeats_external_ids
      THEN troco_refuse('external_id_used')::smallint END
    FROM accounts a WHERE a.id = ${accountId}::uuid FOR SHARE)`
}

/** A separate query is acceptable: only live mode has limits, and a bank call follows anyway. */
async function refuseOverLimit(accountId: string, amount: number): Promise<void> {
  const [account] = await db().$queryRaw<{ chargeMax: bigint | null }[]>`
    SELECT charge_max AS "chargeMax" FROM accounts WHERE id = ${accountId}::uuid`
  const chargeMax = account?.chargeMax
  if (chargeMax === null || chargeMax === undefined || amount <= cents(chargeMax)) return
  const limit = { name: 'account_charge', amount: cents(chargeMax), freesAt: null } as const
  throw refuse('limit_exceeded', { limit })
}

function firstDueS(
  { newsInMs }: OpenedCharge,
  [firstQueryMs]: readonly number[] = [],
  lifetimeS: number,
): number {
  const ages = [newsInMs, firstQueryMs].filter(ms => ms !== undefined)
  return Math.min(lifetimeS, ...ages.map(ms => ms / 1_000))
}

export function refuseDuplicateReference(error: unknown): never {
  const isRefused = parseDatabaseRefusal(error)?.code === 'external_id_used'
  if (isRefused || isDuplicateReference(error)) throw refuse('external_id_used')
  throw error
}

function isDuplicateReference(error: unknown): boolean {
  return parseDatabaseError(error).constraint === 'charges_account_id_mode_external_id_key'
}

function json(value: unknown): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value)
}
