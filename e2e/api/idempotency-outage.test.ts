import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#lib/base/ids.ts'
import type { Account } from '#lib/rooms/accounts/schema.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  expectBalancedLedger,
  inOwnDatabase,
  openCharge,
  runAsOwner,
  startApiWithMerchant,
} from '#lib/testing/fixtures.ts'

inOwnDatabase()

let api: Api
let merchant: Account
let token: string
beforeAll(async () => {
  ;({ api, merchant, token } = await startApiWithMerchant())
})
afterAll(() => api.close())

test('a request whose response could not be stored has acted, and its key gives the response later', async () => {
  const { id } = await openCharge(merchant)
  await runAsOwner(`CREATE FUNCTION shut_down() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'admin_shutdown'; END $$`)
  await runAsOwner(`CREATE TRIGGER shut_down BEFORE UPDATE ON idempotency_keys
    FOR EACH ROW WHEN (NEW.answer IS NOT NULL) EXECUTE FUNCTION shut_down()`)
  const options = { token, key: newId(), body: { outcome: 'paid' } }
  const pay = () => call(api.url, 'POST', `/sandbox/transactions/${id}`, options)
  expect((await pay()).status).toBe(503)
  await runAsOwner('DROP TRIGGER shut_down ON idempotency_keys')
  const { status, body } = await pay()
  expect([status, body.data?.status]).toEqual([200, 'paid'])
  await expectBalancedLedger(merchant.id)
})
