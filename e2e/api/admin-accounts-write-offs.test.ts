import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { loseDispute } from '#lib/charges/disputes/dispute.ts'
import { receivePayments } from '#lib/charges/receive.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { readAccount } from '#lib/operator/accounts.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  expectBalancedLedger,
  makeMerchant,
  openCharge,
  startApi,
} from '#lib/testing/fixtures.ts'
import { pageHeaders, personHeaders, signIn, signInAdmin } from '#lib/testing/member.ts'
import { makePayment } from '#lib/testing/payments.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'

const LOST = 10_000
const PAYOUT = { amount: LOST, pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const
const REASON = 'agreed by phone'

let api: Api
let admin: string
let merchant: Account
beforeAll(async () => {
  api = await startApi()
  admin = await signInAdmin()
  merchant = await makeMerchant()
  const { id: chargeId } = await openCharge(merchant, LOST)
  const payment = makePayment(LOST)
  await receivePayments([{ accountId: merchant.id, chargeId, payments: [payment] }])
  await createWithdrawal(merchant.id, 'test', PAYOUT)
  const { endToEndId } = payment
  const dispute = { connectionId: SIMULATOR_CONNECTION_ID, bankId: newId(), endToEndId }
  await loseDispute({ ...dispute, amount: LOST })
})
afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await api.close()
})

const writeOff = (body: object, secret = admin, id = merchant.id) =>
  call(api.url, 'POST', `/admin/accounts/${id}/write-offs`, {
    headers: personHeaders(secret),
    body: { mode: 'test', reason: REASON, ...body },
  })

/** What the merchant and staff see. */
async function readClaims() {
  const headers = pageHeaders(await signIn(merchant, 'viewer'), merchant.id)
  const { body } = await call(api.url, 'GET', '/dashboard/home', { headers })
  return [body.data.balance.disputes.claim, (await readAccount(merchant.id))?.claim.test]
}

/** That it requires a proof is tested with all declarations of proofs. */
test('a claim is given up by an admin only, and only with a reason', async () => {
  expect(await readClaims()).toEqual([LOST, LOST])
  expect((await writeOff({}, await signIn(merchant, 'owner'))).status).toBe(404)
  expect((await writeOff({ reason: undefined })).status).toBe(422)
  expect((await writeOff({ amount: LOST + 1 })).status).toBe(422)
  expect(await readClaims()).toEqual([LOST, LOST])

  expect((await writeOff({ amount: 4_000 })).body).toEqual({ data: { amount: 4_000 } })
  expect(await readClaims()).toEqual([6_000, 6_000])
  expect((await writeOff({})).body).toEqual({ data: { amount: 6_000 } })
  expect(await readClaims()).toEqual([0, 0])
  const where = { accountId: merchant.id, action: 'account.claim_written_off' }
  const records = await db().auditRecord.findMany({ where, orderBy: { id: 'asc' } })
  expect(records).toMatchObject(
    [4_000, 6_000].map(amount => ({
      actorType: 'user',
      reason: REASON,
      after: { mode: 'test', amount },
    })),
  )
})

test('nothing is written off of an account that owes nothing, or that does not exist', async () => {
  const { id } = await makeMerchant()
  for (const one of [id, newId(), 'none']) expect((await writeOff({}, admin, one)).status).toBe(404)
})
