import type { Account } from '#lib/accounts/schema.ts'
import { breaker } from '#lib/banks/breaker.ts'
import { openEfi } from '#lib/banks/efi/adapter.ts'
import type { Gateway } from '#lib/banks/gateway.ts'
import { registerAdapter } from '#lib/banks/served.ts'
import { createCharge } from '#lib/charges/create.ts'
import { receivePayments } from '#lib/charges/receive.ts'
import type { CreatedCharge } from '#lib/charges/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { CHARGE } from '#lib/testing/charge.ts'
import { makePayment } from '#lib/testing/payments.ts'

/** Banks of this process by the id of their connection. */
const banks = new Map<string, Gateway>()

/** Adds a connection for production to a bank, as if its check had passed. Returns its id. */
export async function addConnection(bank: Gateway, changes: object = {}): Promise<string> {
  const id = newId()
  await db().connection.create({
    data: {
      id,
      name: id,
      kind: 'efi',
      environment: 'production',
      isAssignable: true,
      settings: {},
      receivingKeys: ['pix@example.com'],
      payingKey: 'pix@example.com',
      checkedAt: new Date(),
      checkCode: 'ok',
      ...changes,
    },
  })
  replaceBank(id, bank)
  return id
}

export function replaceBank(connectionId: string, bank: Gateway): void {
  banks.set(connectionId, bank)
  registerAdapter('efi', (connection, lookup) => {
    const { id, credentials } = connection
    return banks.get(id) ?? (credentials === null ? null : openEfi(connection, lookup))
  })
}

/** From now on the account receives and pays out through the connection. */
export async function assignConnection(connectionId: string, { id }: { id: string }) {
  const data = { receivingConnectionId: connectionId, payingConnectionId: connectionId }
  await db().account.update({ where: { id }, data })
}

/** From now on the account receives and pays out through a new connection to the bank. */
export async function connectBank(bank: Gateway, account: { id: string }): Promise<string> {
  const connectionId = await addConnection(bank)
  await assignConnection(connectionId, account)
  return connectionId
}

/** Opens a charge at the bank of the account. */
export async function openLiveCharge(
  merchant: Account,
  amount = CHARGE.amount,
): Promise<CreatedCharge> {
  const { receivingConnectionId } = await db().account.findUniqueOrThrow({
    where: { id: merchant.id },
  })
  return createCharge({ ...merchant, receivingConnectionId }, 'live', { ...CHARGE, amount }, null)
}

/** Gives a merchant a balance in live mode by paying a charge. Returns its id. */
export async function fundLive(merchant: Account, amount: number): Promise<string> {
  const { id: chargeId } = await openLiveCharge(merchant, amount)
  const payments = [makePayment(amount)]
  await receivePayments([{ accountId: merchant.id, chargeId, payments }])
  return chargeId
}

/** Lets calls through the connection rest, as after failures, until `endRest`. */
export async function restConnection(connectionId: string): Promise<void> {
  const rest = {
    failures: 5,
    rests: 1,
    openedAt: new Date(),
    retryAt: new Date(Date.now() + 60_000),
  }
  await db().connectionState.upsert({
    where: { connectionId },
    create: { connectionId, ...rest },
    update: rest,
  })
}

/** From now on the next call is a probe. A process learns it within a second. */
export async function endRest(connectionId: string): Promise<void> {
  await db().$executeRaw`
    UPDATE connection_states SET retry_at = now()
    WHERE connection_id = ${connectionId}::uuid AND opened_at IS NOT NULL`
}

/** From now on orders may be sent although the bank asked for a pause. */
export async function endPause(connectionId: string): Promise<void> {
  await db().orderQueue.updateMany({ where: { connectionId }, data: { pausedUntil: null } })
}

/** Ends the slots of all orders at the bank, as if the time had passed. */
export async function endSlots(connectionId: string): Promise<void> {
  await db().$executeRaw`
    UPDATE bank_orders SET slot_until = now() - interval '1 second'
    WHERE connection_id = ${connectionId}::uuid AND slot_until > now()`
}

/** From now on this process knows at once what others know of a rest. For tests in which time passes. */
export function readRestsAlways(): void {
  Object.assign(breaker as object, { readAgainMs: 0 })
}
