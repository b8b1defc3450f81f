import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { withLogContext } from '#lib/core/log.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { readWithinBudget } from '#lib/db/sql.ts'
import { type Api, makeMerchant, startApi } from '#lib/testing/fixtures.ts'
import { pageHeaders, signIn } from '#lib/testing/member.ts'

// Not by way of Next: the test holds a turn in the process that serves the API.
supplyEnv({ LOG_LEVEL: env().LOG_LEVEL })

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

async function exportCharges(merchant: Account): Promise<Response> {
  const headers = await pageHeaders(await signIn(merchant, 'owner'), merchant.id)
  return fetch(`${api.url}/api/dashboard/charges/export?locale=en`, { headers })
}

test('the reads of an export take their turns among the lists of their account', async () => {
  const [merchant, other] = [await makeMerchant(), await makeMerchant()]
  const { promise: large, resolve: endLarge } = Promise.withResolvers<{ bytes: number }>()
  const list = withLogContext({ accountId: merchant.id }, () => readWithinBudget(() => large))
  const ended: string[] = []
  const file = (await exportCharges(merchant)).text().then(() => ended.push('export'))
  for (let nth = 0; nth < 2; nth++) await (await exportCharges(other)).text()
  ended.push('list')
  endLarge({ bytes: 0 })
  await Promise.all([list, file])
  expect(ended).toEqual(['list', 'export'])
})
