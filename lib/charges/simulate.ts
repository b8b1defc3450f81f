import type { ChargeState } from '#lib/banks/gateway.ts'
import { decideCharge } from '#lib/banks/simulator.ts'
import { closeCharge } from '#lib/charges/close.ts'
import { createCharge } from '#lib/charges/create.ts'
import { findAddressed, findCharge } from '#lib/charges/list.ts'
import { receivePayment } from '#lib/charges/receive.ts'
import type { ChargeOutcome, ChargeRow } from '#lib/charges/schema.ts'
import { refuse, type TrocoError } from '#lib/core/errors.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import { maskTaxId } from '#lib/core/pix/tax-id.ts'
import { currentCause } from '#lib/core/trace.ts'

/**
 * The simulated bank's state is stored first: after a crash, the worker ends the due charge. `isResumed`:
 * an earlier process died during this request and may already have decided.
 */
export async function simulateCharge(
  accountId: string,
  idOrReference: string,
  outcome: ChargeOutcome,
  isResumed = false,
): Promise<ChargeRow> {
  const charge = await findAddressed(accountId, 'test', idOrReference)
  if (isResumed && charge.status === outcome) return charge
  const mayChange = charge.status === 'pending' || (outcome === 'paid' && charge.status !== 'paid')
  if (!mayChange) throw alreadyFinal(charge)
  const { id, amount } = charge
  const { state, isAccepted } = await decideCharge(removeHyphens(id), amount, outcome)
  const ended =
    (await endOneAsReported(accountId, id, withPayer(state, charge))) ??
    // The worker or another request has ended it.
    (await findAddressed(accountId, 'test', id))
  if (ended.status === outcome && (isAccepted || isResumed)) return ended
  throw alreadyFinal(ended)
}

/** The simulated bank, which stores no payer, lets the person pay whom the charge names, if any. */
function withPayer(state: ChargeState, { client_name, client_doc }: ChargeRow): ChargeState {
  if (state.state !== 'paid' || client_doc === '') return state
  const payments = state.payments.map(payment => {
    const bank = payment.endToEndId.slice(1, 9)
    return { ...payment, payer: { name: client_name, maskedDoc: maskTaxId(client_doc), bank } }
  })
  return { ...state, payments }
}

/** Ends a charge as the bank reports. Returns null if it is still open or had already ended. */
export async function endOneAsReported(
  accountId: string,
  chargeId: string,
  bankState: ChargeState,
): Promise<ChargeRow | null> {
  if (bankState.state === 'open') return null
  if (bankState.state !== 'paid') {
    return closeCharge(accountId, chargeId, bankState.state === 'failed' ? 'failed' : 'expired')
  }
  return receivePayment({
    accountId,
    chargeId,
    payments: bankState.payments,
    trace: currentCause(),
  })
}

function alreadyFinal({ status }: ChargeRow): TrocoError {
  return refuse('already_final', { subject: 'Transaction', status })
}

const WELCOME = { amount: 100_000, reference: 'welcome' }

/** Gives a new account one paid charge in test mode, so that a first withdrawal works. */
export async function payWelcomeCharge(
  merchant: Parameters<typeof createCharge>[0],
): Promise<void> {
  const existing = await findCharge(merchant.id, 'test', WELCOME.reference)
  if (!existing) {
    const request = {
      amount: WELCOME.amount,
      client_name: 'Troco',
      client_email: 'welcome@example.com',
      client_doc: '00000000000191',
      external_id: WELCOME.reference,
    }
    await createCharge(merchant, 'test', request, null)
  }
  // Another call may have paid it, or crashed before paying it.
  if (existing?.status !== 'paid')
    await simulateCharge(merchant.id, WELCOME.reference, 'paid', true)
}
