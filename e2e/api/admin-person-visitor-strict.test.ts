import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { type Api, startApi } from '#lib/testing/fixtures.ts'
import { callOperation, personHeaders, signInWithoutAccount } from '#lib/testing/member.ts'
import { ACCOUNTLESS_OPERATIONS } from '#lib/testing/route-table.ts'

const adminOperations = ACCOUNTLESS_OPERATIONS.filter(({ audience }) => audience === 'admin')

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

describe('in production', () => {
  const { TROCO_ENV } = env()
  beforeAll(() => supplyEnv({ TROCO_ENV: 'production', PUBLIC_URL: 'https://pix.troco.test' }))
  afterAll(() => supplyEnv({ TROCO_ENV, PUBLIC_URL: 'http://localhost:3000' }))

  test.each(adminOperations)(
    '$method $path refuses staff without a second factor',
    async operation => {
      const response = await callOperation(
        api.url,
        operation,
        personHeaders(await signInWithoutAccount(true)),
      )
      expect([response.status, response.headers.get('x-error-code')]).toEqual([
        403,
        'second_factor_required',
      ])
    },
  )
})
