import { beforeEach, describe, expect, test } from 'vitest'
import { db } from '#lib/base/db/client.ts'
import type { Account } from '#lib/rooms/accounts/schema.ts'
import { createCharge } from '#lib/rooms/charges/create.ts'
import { simulateCharge } from '#lib/rooms/charges/simulate.ts'
import { editEndpoint } from '#lib/services/webhooks/endpoints.ts'
import { healHosts } from '#lib/services/webhooks/heal-lanes.ts'
import { addEndpoint, createPaidCharge, deliveriesOf } from '#lib/testing/deliveries.ts'
import { CHARGE, inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'

inOwnDatabase()

let merchant: Account
beforeEach(async () => {
  merchant = await makeMerchant()
})
const owner = () => ({ accountId: merchant.id, mode: 'test' as const, note: async () => {} })
const hosts = async () => (await deliveriesOf(merchant)).map(({ host }) => host)

describe('the limit per host counts all spellings of a host together', () => {
  test.each([
    ['a backslash', 'http://127.9.9.9\\p1', '127.9.9.9'],
    ['a number', 'http://2130706433/', '127.0.0.1'],
    ['hexadecimal digits', 'http://0x7f.1/', '127.0.0.1'],
    ['percent-encoding', 'http://%65xample.com/', 'example.com'],
    ['wide letters', 'http://ｅxample.com/', 'example.com'],
    ['a final dot', 'http://example.com./', 'example.com'],
    ['capital letters and a port', 'http://EXAMPLE.com:8080/x', 'example.com'],
    ['IPv6', 'http://[0:0::1]:8080/', '::1'],
  ])('with %s', async (_what, url, host) => {
    await createPaidCharge(merchant, url)
    expect(await hosts()).toEqual([host])
    const { id } = await addEndpoint(merchant, 'http://other.example/')
    await editEndpoint(owner(), id, { url })
    await createPaidCharge(merchant)
    expect(await hosts()).toEqual([host, host])
    expect(await db().deliveryLane.count({ where: { accountId: merchant.id } })).toBe(1)
  })
})

test('rows of an older process have the host from SQL, and an endpoint soon the right one', async () => {
  const { id } = await addEndpoint(merchant, 'http://127.9.9.9\\p1')
  const charge = await createCharge(
    merchant,
    'test',
    { ...CHARGE, webhook_url: 'http://shop.example/a' },
    null,
  )
  await db()
    .$executeRaw`UPDATE charges SET webhook_host = NULL WHERE account_id = ${merchant.id}::uuid`
  await simulateCharge(merchant.id, charge.id, 'paid')
  expect(await hosts()).toEqual(['127.9.9.9\\p1', 'shop.example'])
  expect(await healHosts()).toBe(1)
  expect(await healHosts()).toBe(0)
  const endpoint = await db().webhookEndpoint.findFirstOrThrow({ where: { id } })
  expect(endpoint.host).toBe('127.9.9.9')
})
