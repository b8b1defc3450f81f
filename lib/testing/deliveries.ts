import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { db } from '#lib/base/db/client.ts'
import { newId } from '#lib/base/ids.ts'
import { keyId, seal } from '#lib/base/keys.ts'
import type { Account } from '#lib/rooms/accounts/schema.ts'
import { createCharge } from '#lib/rooms/charges/create.ts'
import { tellCharge } from '#lib/rooms/charges/queries.ts'
import { simulateCharge } from '#lib/rooms/charges/simulate.ts'
import { tellWithdrawal } from '#lib/rooms/withdrawals/queries.ts'
import { createDeliverer, type Deliverer } from '#lib/services/webhooks/deliver.ts'
import { EVENT_TYPES } from '#lib/services/webhooks/states.ts'
import { CHARGE } from '#lib/testing/stage.ts'

/** The product's deliverer, run by hand. */
export function makeDeliverer(): Deliverer {
  return createDeliverer({ transaction: tellCharge, withdrawal: tellWithdrawal })
}

/** Delivers whatever is due now, and what becomes due by that. */
export async function deliverAll(deliverer = makeDeliverer()): Promise<void> {
  while ((await deliverer.run()) > 0) await deliverer.idle()
}

/** Delivers until each of this merchant's was tried; what is everybody else's is given back. */
export async function deliverTheirs(merchant: Account): Promise<void> {
  const deliverer = makeDeliverer()
  const areTried = async () => (await deliveriesOf(merchant)).every(({ tries }) => tries.length > 0)
  for (; !(await areTried()); await sleep(20)) await deliverer.run()
  deliverer.breakOff()
}

/** As if the time of every retry had come. */
export async function passTime(): Promise<void> {
  await db().$executeRaw`UPDATE deliveries SET due_at = now() WHERE due_at > now()`
}

/** A charge that is paid and tells this address. */
export async function payAndTell(merchant: Account, webhook_url?: string): Promise<string> {
  const { id } = await createCharge(merchant, 'test', { ...CHARGE, webhook_url }, null)
  await simulateCharge(merchant.id, id, 'paid')
  return id
}

/** An endpoint of the account that wants to know everything, with its secret. */
export async function addEndpoint(
  merchant: Account,
  url: string,
): Promise<{ id: string; secret: string }> {
  const [id, secretId] = [newId(), newId()]
  const whose = { accountId: merchant.id, mode: 'test' }
  await db().webhookEndpoint.create({ data: { ...whose, id, url, eventTypes: [...EVENT_TYPES] } })
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  const sealed = { sealed: seal(secret, secretId), keyId: keyId() }
  await db().webhookSecret.create({ data: { ...whose, id: secretId, endpointId: id, ...sealed } })
  return { id, secret }
}

/** The deliveries of an account, in the order of their events. */
export function deliveriesOf(merchant: Account) {
  return db().delivery.findMany({
    where: { accountId: merchant.id },
    orderBy: [{ sequence: 'asc' }, { endpointId: 'asc' }],
    include: { tries: { orderBy: { number: 'asc' } } },
  })
}
