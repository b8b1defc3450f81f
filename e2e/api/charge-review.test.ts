import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Account, Role } from '#lib/accounts/schema.ts'
import { needsReview } from '#lib/charges/states.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'
import { type Api, CHARGE, makeMerchant, makeToken, startApi } from '#lib/testing/fixtures.ts'
import { pageHeaders, refusal, signIn } from '#lib/testing/member.ts'

const THRESHOLD = 100_000
const ABOVE = { ...CHARGE, amount: THRESHOLD + 1 }
const REFUSED = [
  422,
  '{"errors":"amount is above the threshold of this account: review it, then confirm it"}',
  'review_required',
]

let api: Api
let merchant: Account
beforeAll(async () => {
  api = await startApi()
})
beforeEach(async () => {
  merchant = await makeMerchant()
  await setThreshold(THRESHOLD)
})
afterAll(() => api.close())

const setThreshold = (chargeReviewAbove: number | null) =>
  db().account.update({ where: { id: merchant.id }, data: { chargeReviewAbove } })
const countCharges = () => db().charge.count({ where: { accountId: merchant.id } })

async function createAs(role: Role) {
  const headers = pageHeaders(await signIn(merchant, role), merchant.id)
  return (body: object, reviewed?: string, key = newId()) =>
    call(api.url, 'POST', '/transactions', {
      headers: reviewed === undefined ? headers : { ...headers, 'troco-reviewed-amount': reviewed },
      body,
      key,
    })
}

test('a charge needs a review if it is above the threshold, not at it, and never without one', () => {
  expect([THRESHOLD - 1, THRESHOLD, THRESHOLD + 1].map(a => needsReview(a, THRESHOLD))).toEqual([
    false,
    false,
    true,
  ])
  expect([needsReview(500, 0), needsReview(999_999_999_999, null)]).toEqual([true, false])
})

test.each(['owner', 'finance'] as const)(
  'what an %s creates above the threshold is refused until exactly its amount is confirmed',
  async role => {
    const create = await createAs(role)
    const key = newId()
    for (const reviewed of [undefined, '', '100000', '1000010', '100001.0', ' 100001x', 'true'])
      expect(refusal(await create(ABOVE, reviewed, key)), reviewed).toEqual(REFUSED)
    expect((await create(ABOVE, undefined)).headers.get('x-error-fields')).toBe('amount')
    expect(await countCharges()).toBe(0)
    const [first, second] = await Promise.all([1, 2].map(() => create(ABOVE, '100001', key)))
    expect([first?.status, second?.status]).toEqual([200, 200])
    expect(second?.body).toEqual(first?.body)
    expect(await countCharges()).toBe(1)
  },
)

test('a charge at the threshold, and any without a threshold, is created at once', async () => {
  const create = await createAs('owner')
  expect((await create({ ...CHARGE, amount: THRESHOLD })).status).toBe(200)
  await setThreshold(null)
  expect((await create(ABOVE)).status).toBe(200)
})

test('a threshold applies from the next request, and a token is never asked', async () => {
  const create = await createAs('owner')
  await setThreshold(0)
  expect(refusal(await create(CHARGE))).toEqual(REFUSED)
  const token = await makeToken(merchant.id)
  for (const key of [undefined, newId()])
    expect((await call(api.url, 'POST', '/transactions', { token, body: ABOVE, key })).status).toBe(
      200,
    )
})
