import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { createVerifier, expireDueCharges as startExpiry } from '#lib/charges/due.ts'
import { db, type Prisma } from '#lib/db/client.ts'
import { claimDue, newQueue, type OrderKind } from '#lib/orders/order.ts'
import { createOrderSender, type OrderSender } from '#lib/orders/send.ts'
import { ORDER_RULES } from '#lib/worker/worker.ts'

/** Expires due charges and awaits the banks. Returns how many were due. */
export async function expireDueCharges(rest?: () => Promise<void>): Promise<number> {
  const verifier = createVerifier()
  const ended = await startExpiry(verifier, rest)
  return ended + (await verifier.idle())
}

/** A sender of orders of these kinds; without any, of all. */
export function createSender(...kinds: OrderKind[]): OrderSender {
  const rules = Object.entries(ORDER_RULES).filter(
    ([kind]) => kinds.length === 0 || kinds.includes(kind as OrderKind),
  )
  return createOrderSender(Object.fromEntries(rules))
}

/** Sends what is due, as far as there are slots, and awaits it. Returns how many were due. */
export const sendDueWithdrawals = () => runToEnd(createSender('withdrawal'))
export const sendDueRefunds = () => runToEnd(createSender('refund'))
export const sendDueReturns = () => runToEnd(createSender('return'))

/** Makes open orders due now, also those of workers that died. With `slots`, their slots are over. */
export async function makeOrdersDue({ id, slots = false }: { id?: string; slots?: boolean } = {}) {
  await db().$executeRaw`
    UPDATE bank_orders SET due_at = now() - interval '3 seconds',
      slot_until = CASE WHEN ${slots} THEN LEAST(slot_until, now() - interval '1 second') ELSE slot_until END
    WHERE due_at IS NOT NULL AND (${id ?? null}::uuid IS NULL OR id = ${id ?? null}::uuid)`
}

/** Ends all open orders without what they send, so that no sender claims them. */
export const dropOrders = () => db().$executeRaw`
  UPDATE bank_orders SET state = 'refused', due_at = NULL, lease = NULL WHERE due_at IS NOT NULL`

/** Claims as a worker that then dies: orders of a connection that wait, or that were sent. */
export const claimOrders = (
  state: 'waiting' | 'placed',
  limit: number,
  connectionId = SIMULATOR_CONNECTION_ID,
  kind: OrderKind = 'withdrawal',
) => {
  const operation = kind === 'withdrawal' ? 'payout' : 'refund'
  return claimDue(newQueue(connectionId, operation, [kind]), state, limit)
}

/** Has a pending withdrawal wait for the approval of a member. */
export async function letWait(id: string, rest = '1 hour'): Promise<void> {
  await db().$executeRaw`
    UPDATE withdrawals SET approval_reason = 'new_key', approval_barred = '{}',
      approval_due_at = now() + ${rest}::interval WHERE id = ${id}::uuid`
  await db().$executeRaw`
    UPDATE bank_orders SET state = 'held', due_at = NULL, lease = NULL, slot_until = NULL WHERE id = ${id}::uuid`
}

export const orderOf = (id: string) => db().bankOrder.findFirstOrThrow({ where: { id } })
export const changeOrder = (id: string, data: Prisma.BankOrderUpdateManyMutationInput) =>
  db().bankOrder.updateMany({ where: { id }, data })

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
