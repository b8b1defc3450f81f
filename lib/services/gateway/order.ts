import { runConcurrently } from '#lib/base/db/batch.ts'
import { type Claim, isLeaseHeld, withLease } from '#lib/base/db/claim.ts'
import { log } from '#lib/base/log.ts'
import type { GatewayResult, OrderState } from '#lib/services/gateway/gateway.ts'

const BATCH_MAX = 50
/** Maximum concurrent orders: a call that hangs must not delay other orders. */
const CONCURRENCY_MAX = 8

const FIRST_PAUSE_MS = 1_000
const PAUSE_MAX_MS = 5 * 60_000

/** Returns the pause before an unfinished order is retried: 1 s, 2 s, 4 s …, at most 5 min. */
export function orderRetryPauseMs(attempts: number): number {
  return Math.min(PAUSE_MAX_MS, FIRST_PAUSE_MS * 2 ** Math.max(0, attempts - 1))
}

export function sendDueOrders(
  kind: 'withdrawal' | 'refund',
  send: (claim: Claim) => Promise<unknown>,
): Promise<number> {
  return withLease(`${kind}s`, BATCH_MAX, due =>
    runConcurrently(due, CONCURRENCY_MAX, async claim => {
      // A failure must not stop other orders. The order becomes due again when its lease expires.
      await send(claim).catch(error =>
        log().error({ err: error, [`${kind}Id`]: claim.id }, `sending a ${kind} failed`),
      )
    }),
  )
}

interface OrderCalls {
  query: () => Promise<GatewayResult<OrderState | null>>
  /** Null: the order must not be sent now. */
  send: () => Promise<GatewayResult<OrderState> | null>
}

/**
 * Returns the order's state at the bank, or null if unknown. From the second attempt on, queries
 * first and sends, under the same id, only if the bank does not have the order.
 */
export async function placeOrder(
  claim: Claim,
  { query, send }: OrderCalls,
): Promise<OrderState | null> {
  const mayHaveArrived = claim.attempts > 1
  if (mayHaveArrived) {
    // A rejected query is no answer about the order: its money may have moved.
    const queryResult = await query()
    if (queryResult.outcome !== 'ok') return null
    if (queryResult.value) return queryResult.value
  }
  if (!isLeaseHeld(claim)) return null
  const result = await send()
  if (result?.outcome === 'ok') return result.value
  if (result?.outcome !== 'rejected') return null
  const refused = { state: 'refused', reason: result.reason } as const
  if (!mayHaveArrived) return refused
  // The bank may reject this attempt because an earlier attempt has arrived meanwhile.
  const queryResult = await query()
  return queryResult.outcome === 'ok' ? (queryResult.value ?? refused) : null
}
