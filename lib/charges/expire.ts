import { closeCharge } from '#lib/charges/close.ts'
import { settleCharges } from '#lib/charges/settle.ts'
import { type Claim, claim, postpone } from '#lib/db/claim.ts'
import { gatewayOf } from '#lib/gateway/choose.ts'
import type { ChargeState } from '#lib/gateway/gateway.ts'
import { log } from '#lib/log.ts'
import { MODES, type Mode } from '#lib/mode.ts'

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
    if (ofMode.length > 0) await expireAfterAsking(mode, ofMode)
  }
  return due.length
}

async function expireAfterAsking(mode: Mode, due: Claim[]): Promise<void> {
  const known = await gatewayOf(mode).getCharges(due.map(txidOf))
  if (known.outcome !== 'ok') {
    for (const held of due) await postpone('charges', held, ASK_AGAIN_MS)
    return
  }
  for (const held of due) {
    // One that fails keeps its lease and comes back; the others must not wait for it.
    await endAsSaid(held, known.value.get(txidOf(held))).catch(error =>
      log().error({ err: error, chargeId: held.id }, 'a due charge could not be ended'),
    )
  }
}

async function endAsSaid(held: Claim, state: ChargeState | undefined): Promise<void> {
  const { accountId, id: chargeId } = held
  if (state?.state === 'paid') {
    const { endToEndId, paidAt } = state
    await settleCharges([{ accountId, chargeId, endToEndId, paidAt }])
  } else {
    await closeCharge(accountId, chargeId, state?.state === 'failed' ? 'failed' : 'expired')
  }
}

function txidOf(held: Claim): string {
  return held.id.replaceAll('-', '')
}
