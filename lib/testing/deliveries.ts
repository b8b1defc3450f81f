import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Account } from '#lib/accounts/schema.ts'
import { serializePixNotice } from '#lib/api-pix/wire.ts'
import { createCharge } from '#lib/charges/create.ts'
import { serializeChargeEvent } from '#lib/charges/list.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { newId } from '#lib/core/ids.ts'
import { keyId, seal } from '#lib/core/keys.ts'
import { env } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { CHARGE } from '#lib/testing/fixtures.ts'
import { createDeliverer, type Deliverer } from '#lib/webhooks/deliver.ts'
import { claimQueues, type DueDelivery, Queue, readQueues } from '#lib/webhooks/queue.ts'
import { EVENT_TYPES } from '#lib/webhooks/states.ts'
import { hostOf } from '#lib/webhooks/target.ts'
import { serializeWithdrawalEvent } from '#lib/withdrawals/queries.ts'

const SHARED_DATABASE_URL = env().DATABASE_URL

/** A claim takes the due deliveries of all merchants, so it needs a database of the test's own. */
export function makeDeliverer(): Deliverer {
  if (env().DATABASE_URL === SHARED_DATABASE_URL) throw new Error('Call inOwnDatabase() first')
  return createDeliverer({
    transaction: serializeChargeEvent,
    withdrawal: serializeWithdrawalEvent,
    apiPix: serializePixNotice,
  })
}

/** Delivers until nothing is due. */
export async function deliverDue(deliverer = makeDeliverer()): Promise<void> {
  while ((await deliverer.run()) > 0) await deliverer.idle()
}

/** Delivers until each delivery of this merchant was attempted, then aborts calls in progress. */
export async function deliverForMerchant(merchant: Account): Promise<void> {
  const deliverer = makeDeliverer()
  const areAttempted = async () =>
    (await deliveriesOf(merchant)).every(({ attemptLog }) => attemptLog.length > 0)
  for (; !(await areAttempted()); await sleep(20)) await deliverer.run()
  deliverer.abort()
  await deliverer.idle()
}

/** Claims the queue of an account and reads due deliveries, as a worker does. */
export async function readAsWorker({ id }: Pick<Account, 'id'>): Promise<DueDelivery[]> {
  const lease = newId()
  await claimQueues(lease, 1_000)
  const queue = new Queue(id)
  await readQueues(lease, [queue])
  const due: DueDelivery[] = []
  for (let next = queue.take(); next; next = queue.take()) due.push(next)
  return due
}

/** Makes all pending retries due. */
export async function makeRetriesDue(): Promise<void> {
  await db().$executeRaw`UPDATE deliveries SET due_at = now() WHERE due_at > now()`
}

export async function createPaidCharge(merchant: Account, webhook_url?: string): Promise<string> {
  const { id } = await createCharge(merchant, 'test', { ...CHARGE, webhook_url }, null)
  await simulateCharge(merchant.id, id, 'paid')
  return id
}

export async function addEndpoint(
  merchant: Account,
  url: string,
): Promise<{ id: string; secret: string }> {
  const [id, secretId] = [newId(), newId()]
  const owner = { accountId: merchant.id, mode: 'test' }
  await db().webhookEndpoint.create({
    data: {
      ...owner,
      id,
      url,
      host: hostOf(url),
      eventTypes: [...EVENT_TYPES],
      fullDocuments: true,
    },
  })
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  const sealed = { sealed: seal(secret, secretId), keyId: keyId() }
  await db().webhookSecret.create({ data: { ...owner, id: secretId, endpointId: id, ...sealed } })
  return { id, secret }
}

export function deliveriesOf(merchant: Account) {
  return db().delivery.findMany({
    where: { accountId: merchant.id },
    orderBy: [{ sequence: 'asc' }, { endpointId: 'asc' }],
    include: { attemptLog: { orderBy: { number: 'asc' } } },
  })
}
