import { sideBySide } from '#lib/base/db/batch.ts'
import { type Claim, holding, isHeld } from '#lib/base/db/claim.ts'
import { log } from '#lib/base/log.ts'
import type { Answer, OrderState } from '#lib/services/gateway/gateway.ts'

const BATCH_MAX = 50
/** A bank that lets one call hang must not delay the others. */
const AT_ONCE = 8

const FIRST_PAUSE_MS = 1_000
const PAUSE_MAX_MS = 5 * 60_000

/** When to ask again about an order whose end is not known: 1 s, 2 s, 4 s …, at most 5 min. */
export function askAgainInMs(attempts: number): number {
  return Math.min(PAUSE_MAX_MS, FIRST_PAUSE_MS * 2 ** Math.max(0, attempts - 1))
}

/** Goes through the orders of this kind that are due, each by itself. Returns how many were due. */
export function sendDue(
  kind: 'withdrawal' | 'refund',
  send: (held: Claim) => Promise<unknown>,
): Promise<number> {
  return holding(`${kind}s`, BATCH_MAX, due =>
    sideBySide(due, AT_ONCE, async held => {
      // One that fails keeps its lease and comes back; the others must not wait for it.
      await send(held).catch(error =>
        log().error({ err: error, [`${kind}Id`]: held.id }, `a ${kind} could not be sent`),
      )
    }),
  )
}

interface Calls {
  ask: () => Promise<Answer<OrderState | null>>
  /** Null: it may not be sent just now. */
  send: () => Promise<Answer<OrderState> | null>
}

/**
 * What the bank says of an order that is held; null: nobody knows yet. One that may have been sent
 * before is asked about first, and sent, under the same id, only if the bank has none.
 */
export async function placeOrder(held: Claim, { ask, send }: Calls): Promise<OrderState | null> {
  const mayBeThere = held.attempts > 1
  if (mayBeThere) {
    // A question that is turned down says nothing of the order: the money may be on its way.
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
  // An earlier try of ours may have arrived meanwhile, and be what this one was turned down for.
  const known = await ask()
  return known.outcome === 'ok' ? (known.value ?? refused) : null
}
