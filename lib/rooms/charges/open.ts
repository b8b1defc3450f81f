import { setTimeout as sleep } from 'node:timers/promises'
import { Prisma } from '#lib/base/db/client.ts'
import { unlockKeySql } from '#lib/base/db/idempotency.ts'
import { queryRows } from '#lib/base/db/rows.ts'
import { joinCtes } from '#lib/base/db/statement.ts'
import { retryOnConflict } from '#lib/base/db/transaction.ts'
import { wake } from '#lib/base/db/wake.ts'
import { parseDatabaseError, refuse } from '#lib/base/errors.ts'
import { undoOpening } from '#lib/rooms/charges/cancel.ts'
import {
  insertCharge,
  type NewCharge,
  refuseDuplicateReference,
} from '#lib/rooms/charges/insert.ts'
import { nextQueryAt } from '#lib/rooms/charges/postpone.ts'
import type { CreatedCharge } from '#lib/rooms/charges/schema.ts'
import type {
  ChargeOrder,
  Gateway,
  GatewayResult,
  OpenedCharge,
} from '#lib/services/gateway/gateway.ts'
import { type GatewayCalls, withJournal } from '#lib/services/gateway/journal.ts'

/** Pauses before retrying a bank call whose response was lost. */
const RETRY_PAUSES_MS = [100, 400]

/**
 * Opens a charge at a bank. Inserts the row first, so that the worker can cancel the charge after a
 * crash at any point. Retries a lost response under the same id.
 */
export async function openAtBank(gateway: Gateway, charge: NewCharge): Promise<CreatedCharge> {
  await insertCharge(charge, null).catch(error => {
    // The row exists if the first process died and the caller repeated the idempotency key.
    if (!charge.once || parseDatabaseError(error).constraint !== 'charges_pkey') throw error
  })
  const result = await createUntilKnown(withJournal(gateway, [charge]), charge.order)
  if (result.outcome === 'ok') {
    const row = await publishCharge(charge, result.value, gateway.queryAgesMs)
    if (row) return row
  } else {
    await undoOpening(charge, result.outcome === 'unknown')
  }
  throw refuse('service_unavailable')
}

async function createUntilKnown(
  gateway: GatewayCalls,
  order: ChargeOrder,
): Promise<GatewayResult<OpenedCharge>> {
  let result = await gateway.createCharge(order)
  for (const pauseMs of RETRY_PAUSES_MS) {
    if (result.outcome !== 'unknown') break
    await sleep(pauseMs)
    result = await gateway.createCharge(order)
  }
  return result
}

/** Makes the charge payable. Returns null if the worker has claimed the charge to cancel it. */
async function publishCharge(
  { accountId, id, request, order, once }: NewCharge,
  { brCode, newsInMs: nextStateInMs }: OpenedCharge,
  queryAgesMs: readonly number[] | undefined,
): Promise<CreatedCharge | null> {
  const lifetimeS = order.expiresInSeconds
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
