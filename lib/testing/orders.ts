import { expireDueCharges as startExpiry } from '#lib/rooms/charges/expire.ts'
import { chargeColumns } from '#lib/rooms/charges/queries.ts'
import { createRefundSender } from '#lib/rooms/charges/refunds/send.ts'
import { createVerifier } from '#lib/rooms/charges/verifier.ts'
import { createReturnSender } from '#lib/rooms/inbox/send-returns.ts'
import { createWithdrawalSender } from '#lib/rooms/withdrawals/send.ts'
import type { OrderSender } from '#lib/services/gateway/order-sender.ts'

/** Expires due charges and awaits the banks. Returns how many were due. */
export async function expireDueCharges(rest?: () => Promise<void>): Promise<number> {
  const verifier = createVerifier()
  const ended = await startExpiry(verifier, rest)
  return ended + (await verifier.idle())
}

/** Sends what is due, as far as there are places, and awaits it. Returns how many were due. */
export function sendDueWithdrawals(): Promise<number> {
  return runToEnd(createWithdrawalSender())
}

export function sendDueRefunds(): Promise<number> {
  return runToEnd(createRefundSender(chargeColumns))
}

export function sendDueReturns(): Promise<number> {
  return runToEnd(createReturnSender())
}

let claiming: Promise<unknown> = Promise.resolve()

/**
 * Calls `work` when the sender has claimed all that was due: it goes on claiming while it sends the
 * first order, so it could itself claim what `work` makes due.
 */
export async function afterClaims<T>(work: () => Promise<T>): Promise<T> {
  await claiming
  return work()
}

async function runToEnd({ run, idle }: OrderSender): Promise<number> {
  const running = run()
  claiming = running
  const count = await running
  await idle()
  return count
}
