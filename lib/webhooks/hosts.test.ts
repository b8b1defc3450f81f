import { beforeEach, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { db } from '#lib/db/client.ts'
import { addEndpoint, createPaidCharge, deliveriesOf } from '#lib/testing/deliveries.ts'
import { inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { editEndpoint } from '#lib/webhooks/endpoints.ts'

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
  })
})

test('no URL is stored without its host', async () => {
  const id = await createPaidCharge(merchant, 'http://shop.example/a')
  await expect(
    db().charge.updateMany({ where: { id }, data: { webhookHost: null } }),
  ).rejects.toThrow('charges_webhook_has_host')
})
