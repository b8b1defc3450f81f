import { createCharge } from '#lib/charges/create.ts'
import { findCharge } from '#lib/charges/list.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'

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
