import { sideBySide } from '#lib/base/db/batch.ts'
import { type Claim, holding, isHeld } from '#lib/base/db/claim.ts'
import { log } from '#lib/base/log.ts'
import type { Answer, OrderState } from '#lib/services/gateway/gateway.ts'

const BATCH_MAX = 50
/** Maximum concurrent orders: a call that hangs must not delay the others. */
const AT_ONCE = 8

const FIRST_PAUSE_MS = 1_000
const PAUSE_MAX_MS = 5 * 60_000

/** Returns the pause before an unfinished order is retried: 1 s, 2 s, 4 s …, at most 5 min. */
export function askAgainInMs(attempts: number): number {
  return Math.min(PAUSE_MAX_MS, FIRST_PAUSE_MS * 2 ** Math.max(0, attempts - 1))
}

/** Claims due orders and sends each one independently. Returns the number claimed. */
export function sendDue(
  kind: 'withdrawal' | 'refund',
  send: (held: Claim) => Promise<unknown>,
): Promise<number> {
  return holding(`${kind}s`, BATCH_MAX, due =>
    sideBySide(due, AT_ONCE, async held => {
      // A failure must not stop the others. The order becomes due again when its lease expires.
      await send(held).catch(error =>
        log().error({ err: error, [`${kind}Id`]: held.id }, `sending a ${kind} failed`),
      )
    }),
  )
}

interface Calls {
  ask: () => Promise<Answer<OrderState | null>>
  /** Null: the order must not be sent now. */
  send: () => Promise<Answer<OrderState> | null>
}

/**
 * Returns the state of a claimed order at the bank; null: not known yet. From the second attempt on,
 * queries the bank first and sends, under the same id, only if the bank does not have the order.
 */
export async function placeOrder(held: Claim, { ask, send }: Calls): Promise<OrderState | null> {
  const mayBeThere = held.attempts > 1
  if (mayBeThere) {
    // A rejected query says nothing about the order: its money may be moving.
    const known = await ask()
    if (known.outcome !== 'ok') return null
    if (known.value) return known.value
  }
  if (!isHeld(held)) return null
  const answer = await send()
  if (answer?.outcome === 'ok') return answer.value
  if (answer?.outcome !== 'rejected') return null
  const refused = { state: 'refused', reason: answer.reason } as const
  if (!mayBeThere) return refused
  // An earlier attempt may have arrived meanwhile, and be the reason why this one was rejected.
  const known = await ask()
  return known.outcome === 'ok' ? (known.value ?? refused) : null
}
