import { db, Prisma } from '#lib/base/db/client.ts'
import { type AccountRef, accountSql } from '#lib/base/db/columns.ts'
import { type IdempotentRequest, storeKeySql } from '#lib/base/db/idempotency.ts'
import { writeRows } from '#lib/base/db/rows.ts'
import { joinCtes } from '#lib/base/db/statement.ts'
import { parseDatabaseError, refuse } from '#lib/base/errors.ts'
import type { Mode } from '#lib/base/mode.ts'
import { cents } from '#lib/base/money.ts'
import type { ChargeRequest } from '#lib/rooms/charges/schema.ts'
import type { ChargeOrder, OpenedCharge } from '#lib/services/gateway/gateway.ts'
import { hostOf } from '#lib/services/webhooks/target.ts'

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
  const insert = Prisma.sql`
    INSERT INTO charges (account_id, id, mode, connection_id, status, amount, external_id, txid, br_code,
      client_name, client_email, client_doc, client_phone, webhook_url, webhook_host, ip,
      metadata, utms, items, webhook_masked, expires_at, due_at)
    VALUES (${accountSql(charge.account)}, ${charge.id}::uuid, ${charge.mode}, ${charge.connectionId}::uuid,
      ${opened ? 'pending' : 'opening'}, ${request.amount}::bigint,
      ${request.external_id ?? order.txid}, ${order.txid}, ${opened?.brCode ?? null},
      ${request.client_name}, ${request.client_email}, ${request.client_doc},
      ${request.client_phone ?? null}, ${request.webhook_url ?? null},
      ${hostOf(request.webhook_url)}, ${charge.ip},
      ${json(request.metadata)}::json, ${json(request.utms)}::json, ${json(request.items)}::json,
      ${charge.webhookMasked ?? false},
      now() + make_interval(secs => ${lifetimeS}::float8),
      now() + make_interval(secs => ${dueInS}::float8))`
  const keySql = storeKeySql(once, opened === null)
  const statement = keySql
    ? Prisma.sql`WITH ${joinCtes({ kept: keySql, made: insert })} SELECT 'null' AS json`
    : insert
  await writeRows(charge.account, statement).catch(refuseDuplicateReference)
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
  if (parseDatabaseError(error).constraint === 'charges_account_id_mode_external_id_key') {
    throw refuse('external_id_used')
  }
  throw error
}

function json(value: unknown): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value)
}
