import { cancelOpening } from '#lib/charges/cancel.ts'
import { endAsSaid } from '#lib/charges/close.ts'
import { type Claim, claim, postpone } from '#lib/db/claim.ts'
import { gatewayOf } from '#lib/gateway/choose.ts'
import type { Gateway } from '#lib/gateway/gateway.ts'
import { bareId } from '#lib/ids.ts'
import { log } from '#lib/log.ts'
import { MODES } from '#lib/mode.ts'

const BATCH_MAX = 100
/** How long to wait for a bank that could not say what became of a charge. */
const ASK_AGAIN_MS = 15_000

/**
 * Ends charges whose time is up by the database's clock. The bank is asked first: a payment that
 * nobody told us of is credited instead. Returns how many were due.
 */
export async function expireDueCharges(): Promise<number> {
  const due = await claim('charges', BATCH_MAX)
  for (const mode of MODES) {
    const ofMode = due.filter(held => held.mode === mode)
    const pending = ofMode.filter(held => held.status !== 'opening')
    if (pending.length > 0) await expireAfterAsking(gatewayOf(mode), pending)
    for (const held of ofMode.filter(other => !pending.includes(other))) {
      await eachAlone(held, async () => {
        const gone = await cancelOpening(gatewayOf(mode), held)
        if (!gone) await postpone('charges', held, ASK_AGAIN_MS)
      })
    }
  }
  return due.length
}

async function expireAfterAsking(gateway: Gateway, due: Claim[]): Promise<void> {
  const known = await gateway.getCharges(due.map(held => bareId(held.id)))
  if (known.outcome !== 'ok') {
    for (const held of due) await postpone('charges', held, ASK_AGAIN_MS)
    return
  }
  for (const held of due) {
    const said = known.value.get(bareId(held.id))
    await eachAlone(held, () => endAsSaid(held.accountId, held.id, said))
  }
}

/** One that fails keeps its lease and comes back; the others must not wait for it. */
async function eachAlone({ id }: Claim, work: () => Promise<unknown>): Promise<void> {
  await work().catch(error =>
    log().error({ err: error, chargeId: id }, 'a due charge could not be ended'),
  )
}
