// Over the line limit: what each outcome of the call leaves behind is read in one place.

import { setTimeout as sleep } from 'node:timers/promises'
import { breaker } from '#lib/banks/breaker.ts'
import type { Gateway, GatewayResult, OpenedCharge } from '#lib/banks/gateway.ts'
import { hasCall, withJournal } from '#lib/banks/journal.ts'
import { requestedPauseMs } from '#lib/banks/pauses.ts'
import { CALLS_MAX_MS, callTimeoutMs } from '#lib/banks/record-call.ts'
import { undoOpening } from '#lib/charges/end-opening.ts'
import {
  insertCharge,
  type NewCharge,
  openingEndSql,
  refuseDuplicateReference,
} from '#lib/charges/insert.ts'
import { nextQueryAt } from '#lib/charges/postpone.ts'
import { findCharge } from '#lib/charges/queries.ts'
import type { CreatedCharge } from '#lib/charges/schema.ts'
import { parseDatabaseError, refuse, type TrocoError } from '#lib/core/errors.ts'
import { db, Prisma, retryOnConflict } from '#lib/db/client.ts'
import { type IdempotentRequest, unlockKeySql } from '#lib/db/idempotency.ts'
import { joinCtes, queryRows } from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'

/** Pauses before calling a bank again whose response was lost. */
const RETRY_PAUSES_MS = [100, 400]

/**
 * Opens a charge at a bank. Inserts the row first, so that the worker can cancel the charge after a
 * crash at any point. Repeats a call without a response under the same id.
 */
export async function openAtBank(
  gateway: Gateway,
  charge: NewCharge,
  callsMaxMs = CALLS_MAX_MS,
): Promise<CreatedCharge> {
  // A repeated request may already have its charge, for which the bank is not called.
  const restMs = charge.once?.isResumed ? 0 : await breaker.restMs(charge.connectionId)
  if (restMs > 0) throw unavailableFor(restMs)
  const isResumed = !(await insertUnlessResumed(charge))
  if (isResumed) {
    const opened = await resumeOpening(charge)
    if (opened) return opened
  }
  const { result, mayExist } = await createUntilKnown(gateway, charge, callsMaxMs)
  if (result.outcome === 'ok') {
    const row = await publishCharge(charge, result.value, gateway.queryAgesMs)
    if (row) return row
  }
  // An earlier request, or the one that was not published, may have reached the bank.
  const isKept = mayExist || isResumed || result.outcome === 'ok'
  const refusal = refusalOf(result)
  // A bank never accepts a txid again whose charge was removed.
  const isSpent = result.outcome === 'rejected' && (await hasCall(charge, 'cancelCharge'))
  await undoOpening(charge, isKept, refusal.code === 'service_unavailable' && !isSpent)
  throw refusal
}

/**
 * Returns the connection of a row that an earlier request with the key left, or null. Its bank may
 * have the charge, whatever connection the account has been assigned since.
 */
export async function findResumedConnection(once: IdempotentRequest): Promise<string | null> {
  if (!once.isResumed) return null
  const [row] = await db().$queryRaw<{ connectionId: string }[]>`
    SELECT connection_id AS "connectionId" FROM charges
    WHERE account_id = ${once.accountId}::uuid AND id = ${once.id}::uuid`
  return row?.connectionId ?? null
}

/** Returns false if the row exists: the caller repeats the key of a request that did not finish. */
async function insertUnlessResumed(charge: NewCharge): Promise<boolean> {
  try {
    await insertCharge(charge, null)
    return true
  } catch (error) {
    if (!charge.once || parseDatabaseError(error).constraint !== 'charges_pkey') throw error
    return false
  }
}

/**
 * Keeps the worker from cancelling an opening that is resumed. Returns the charge if the worker has
 * found it paid since, and refuses while the worker is ending it or if it is at another bank.
 */
async function resumeOpening({
  accountId,
  id,
  mode,
  connectionId,
  once,
}: NewCharge): Promise<CreatedCharge | null> {
  const kept = await db().$executeRaw`
    UPDATE charges SET due_at = ${openingEndSql}
    WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid
      AND status = 'opening' AND lease IS NULL AND connection_id = ${connectionId}::uuid`
  if (kept === 1) return null
  const row = await findCharge(accountId, mode, id)
  if (!row) throw refuse('service_unavailable')
  if (once) await db().$executeRaw(unlockKeySql(once))
  return { ...row, status: 'pending' }
}

/** `mayExist`: a call had no response, so the bank may have the charge, whatever it says later. */
async function createUntilKnown(
  gateway: Gateway,
  charge: NewCharge,
  callsMaxMs: number,
): Promise<{ result: GatewayResult<OpenedCharge>; mayExist: boolean }> {
  const deadline = performance.now() + callsMaxMs
  const call = (isRepeated: boolean) => {
    const timeoutMs = callTimeoutMs(deadline)
    return withJournal(gateway, [charge], { timeoutMs, isRepeated }).createCharge(charge.order)
  }
  let result = await call(false)
  const mayExist = result.outcome === 'unknown'
  for (const pauseMs of RETRY_PAUSES_MS) {
    if (result.outcome !== 'unknown' || performance.now() + pauseMs >= deadline) break
    await sleep(pauseMs)
    result = await call(true)
  }
  return { result, mayExist }
}

const REFUSED_FIELDS = { amount: 'amount', document: 'client_doc', expiry: 'expires_in' } as const

/** Blames the caller only for a field that the caller can change; any other refusal is temporary. */
export function refusalOf(result: GatewayResult<OpenedCharge>): TrocoError {
  if (result.outcome === 'rejected' && result.field)
    return refuse('refused_by_bank', { field: REFUSED_FIELDS[result.field] })
  return unavailableFor(requestedPauseMs(result))
}

export function unavailableFor(pauseMs: number): TrocoError {
  const details = pauseMs > 0 ? { retryAfterS: Math.ceil(pauseMs / 1_000) } : {}
  return refuse('service_unavailable', details)
}

/** Makes the charge payable. Returns null if the worker has claimed the charge to cancel it. */
async function publishCharge(
  { accountId, id, request, order, once }: NewCharge,
  { brCode, newsInMs: nextStateInMs, payableForMs }: OpenedCharge,
  queryAgesMs: readonly number[] | undefined,
): Promise<CreatedCharge | null> {
  const lifetimeS = payableForMs === undefined ? order.expiresInSeconds : payableForMs / 1_000
  const dueInS =
    nextStateInMs === undefined ? lifetimeS : Math.min(lifetimeS, nextStateInMs / 1_000)
  const nextQuery = nextQueryAt(queryAgesMs)
  const ctes = joinCtes({
    published: Prisma.sql`
        UPDATE charges c SET status = 'pending', br_code = ${brCode}, updated_at = now(),
          external_id = ${request.external_id ?? order.txid},
          expires_at = now() + make_interval(secs => ${lifetimeS}::float8),
          due_at = LEAST(now() + make_interval(secs => ${dueInS}::float8), ${nextQuery})
        WHERE c.account_id = ${accountId}::uuid AND c.id = ${id}::uuid
          AND c.status = 'opening' AND c.lease IS NULL
        RETURNING c.id, c.br_code, c.amount, c.status, c.metadata`,
    done: once ? Prisma.sql`${unlockKeySql(once)} AND EXISTS (SELECT 1 FROM published)` : null,
  })
  const statement = Prisma.sql`
    WITH ${ctes} SELECT row_to_json(p)::text AS json FROM published p`
  const [row] = await retryOnConflict(() => queryRows<CreatedCharge>(statement)).catch(
    refuseDuplicateReference,
  )
  if (row && nextStateInMs !== undefined) wake('charges')
  return row ?? null
}
