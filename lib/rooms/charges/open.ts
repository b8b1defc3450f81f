import { setTimeout as sleep } from 'node:timers/promises'
import { Prisma } from '#lib/base/db/client.ts'
import { unlockKeySql } from '#lib/base/db/once.ts'
import { queryRows } from '#lib/base/db/rows.ts'
import { listCtes } from '#lib/base/db/statement.ts'
import { retryOnConflict } from '#lib/base/db/transaction.ts'
import { wake } from '#lib/base/db/wake.ts'
import { parseDatabaseError, refuse } from '#lib/base/errors.ts'
import { takeBackOpening } from '#lib/rooms/charges/cancel.ts'
import { insertCharge, type NewCharge, refuseTaken } from '#lib/rooms/charges/insert.ts'
import { nextAsk } from '#lib/rooms/charges/postpone.ts'
import type { CreatedCharge } from '#lib/rooms/charges/schema.ts'
import type {
  ChargeOrder,
  Gateway,
  GatewayResult,
  OpenedCharge,
} from '#lib/services/gateway/gateway.ts'
import { type GatewayCalls, withJournal } from '#lib/services/gateway/journal.ts'

/** Pauses before retrying a bank call whose response was lost. */
const ASK_AGAIN_AFTER_MS = [100, 400]

/**
 * Opens a charge at a bank. The row is inserted first, so that after a crash at any point the
 * worker cancels it. A lost response is retried under the same id.
 */
export async function openAtBank(gateway: Gateway, charge: NewCharge): Promise<CreatedCharge> {
  await insertCharge(charge, null).catch(error => {
    // The process that inserted it is gone, and its caller retried with the same idempotency key.
    if (!charge.once || parseDatabaseError(error).constraint !== 'charges_pkey') throw error
  })
  const answer = await askUntilKnown(withJournal(gateway, [charge]), charge.order)
  if (answer.outcome === 'ok') {
    const row = await publishCharge(charge, answer.value, gateway.asksAfterMs)
    if (row) return row
  } else {
    await takeBackOpening(charge, answer.outcome === 'unknown')
  }
  throw refuse('service_unavailable')
}

async function askUntilKnown(
  gateway: GatewayCalls,
  order: ChargeOrder,
): Promise<GatewayResult<OpenedCharge>> {
  let answer = await gateway.createCharge(order)
  for (const pauseMs of ASK_AGAIN_AFTER_MS) {
    if (answer.outcome !== 'unknown') break
    await sleep(pauseMs)
    answer = await gateway.createCharge(order)
  }
  return answer
}

/** Returns null if the worker has claimed the charge to cancel it. */
async function publishCharge(
  { accountId, id, request, order, once }: NewCharge,
  { brCode, newsInMs }: OpenedCharge,
  asksAfterMs: readonly number[] | undefined,
): Promise<CreatedCharge | null> {
  const lifeS = order.expiresInSeconds
  const dueInS = newsInMs === undefined ? lifeS : Math.min(lifeS, newsInMs / 1_000)
  const asked = nextAsk(asksAfterMs)
  const ctes = listCtes({
    published: Prisma.sql`
        UPDATE charges c SET status = 'pending', br_code = ${brCode}, updated_at = now(),
          external_id = ${request.external_id ?? order.txid},
          expires_at = now() + make_interval(secs => ${lifeS}::float8),
          due_at = LEAST(now() + make_interval(secs => ${dueInS}::float8), ${asked})
        WHERE c.account_id = ${accountId}::uuid AND c.id = ${id}::uuid
          AND c.status = 'opening' AND c.lease IS NULL
        RETURNING c.id, c.br_code, c.amount, c.status, c.metadata`,
    done: once ? Prisma.sql`${unlockKeySql(once)} AND EXISTS (SELECT 1 FROM published)` : null,
  })
  const statement = Prisma.sql`
    WITH ${ctes} SELECT row_to_json(p)::text AS json FROM published p`
  const [row] = await retryOnConflict(() => queryRows<CreatedCharge>(statement)).catch(refuseTaken)
  if (row && newsInMs !== undefined) wake('charges')
  return row ?? null
}
