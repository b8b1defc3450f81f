/** Sends due withdrawals to a bank that never responds, and reports the first. Ends with its parent. */

import { registerAdapter } from '#lib/services/gateway/adapters.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { createSender } from '#lib/testing/orders.ts'

const bank = Object.assign(new StubBank(), { payoutsInFlight: 1 })
bank.sendPayout = ({ id }) => {
  process.send?.({ sending: id })
  return new Promise(() => {})
}
registerAdapter('efi', () => bank)
process.on('disconnect', () => process.exit(0))
await createSender('withdrawal').run()
