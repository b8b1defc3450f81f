import { Webhook } from 'standardwebhooks'
import { Webhook as Svix } from 'svix'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { db } from '#lib/base/db/client.ts'
import { newId } from '#lib/base/ids.ts'
import type { Account } from '#lib/rooms/accounts/schema.ts'
import {
  beginAuthenticator,
  confirmAuthenticator,
  consumeAppCode,
} from '#lib/services/people/authenticator.ts'
import { readResourceSecret } from '#lib/services/webhooks/secrets.ts'
import { sendTestEvent } from '#lib/services/webhooks/test-event.ts'
import { addEndpoint, createPaidCharge, deliverDue } from '#lib/testing/deliveries.ts'
import { inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { openSessionId } from '#lib/testing/member.ts'
import { openReceiver, type Receiver } from '#lib/testing/receiver.ts'
import { generateTotp } from '#lib/testing/totp.ts'

inOwnDatabase()

let merchant: Account
let receiver: Receiver
beforeEach(async () => {
  merchant = await makeMerchant()
  receiver = await openReceiver()
})
afterEach(() => receiver.close())

/** Works as a process whose clock is ten minutes slow, which is more than receivers tolerate. */
async function runTenMinutesSlow<T>(work: () => Promise<T>): Promise<T> {
  vi.useFakeTimers({ toFake: ['Date'] })
  const realNow = performance.timeOrigin + performance.now()
  vi.setSystemTime(realNow - 600_000)
  try {
    return await work()
  } finally {
    vi.useRealTimers()
  }
}

function verifyCall(secret: string): void {
  const [call] = receiver.calls
  const headers = call?.headers as Record<string, string>
  for (const Verifier of [Webhook, Svix]) new Verifier(secret).verify(call?.text ?? '', headers)
}

test('a worker with a slow clock sends webhooks that receivers can verify', async () => {
  await createPaidCharge(merchant, receiver.url)
  await runTenMinutesSlow(() => deliverDue())
  verifyCall((await readResourceSecret(merchant.id, 'test')) ?? '')
})

test('a server with a slow clock sends test events that receivers can verify', async () => {
  const { id, secret } = await addEndpoint(merchant, receiver.url)
  await runTenMinutesSlow(() => sendTestEvent(merchant.id, 'test', id, 'troco.ping', () => ({})))
  verifyCall(secret)
})

test('a server with a slow clock accepts the code that an authenticator app shows', async () => {
  const user = { id: newId(), email: `ana-${newId()}@troco.example`, name: 'Ana' }
  await db().user.create({ data: user })
  const owner = { ...user, locale: null, sessionId: await openSessionId(user.id) }
  const { secret } = await beginAuthenticator(owner)
  const [first, second] = [generateTotp(secret), generateTotp(secret, 1)]
  await runTenMinutesSlow(() => confirmAuthenticator(owner, first))
  const consume = () => db().$transaction(tx => consumeAppCode(tx, owner.id, second))
  expect(await runTenMinutesSlow(consume)).toBe(true)
})
