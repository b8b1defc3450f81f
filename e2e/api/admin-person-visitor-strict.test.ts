import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { db } from '#lib/base/db/client.ts'
import { env, supplyEnv } from '#lib/base/env.ts'
import { hashSecret } from '#lib/services/people/secret.ts'
import { type Api, startApi } from '#lib/testing/fixtures.ts'
import {
  callOperation,
  personHeaders,
  signInAdmin,
  signInWithoutAccount,
} from '#lib/testing/member.ts'
import { ACCOUNTLESS_OPERATIONS, type AccountlessOperation } from '#lib/testing/route-table.ts'

const PROOF_REQUIRED = [403, '{"error":"Confirm that it is you"}']
const guardedOperations = ACCOUNTLESS_OPERATIONS.filter(({ audience }) => audience !== 'visitor')

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

async function fetchResult(operation: AccountlessOperation, secret: string) {
  const { status, text } = await callOperation(api.url, operation, personHeaders(secret))
  return [status, text]
}

describe('with an https PUBLIC_URL', () => {
  const at = env().PUBLIC_URL
  beforeAll(() => supplyEnv({ PUBLIC_URL: 'https://pix.troco.test' }))
  afterAll(() => supplyEnv({ PUBLIC_URL: at }))

  test.each(guardedOperations.filter(one => one.requiresProof))(
    '$method $path requires a new proof of identity after five minutes',
    async operation => {
      const secret =
        operation.audience === 'admin' ? await signInAdmin() : await signInWithoutAccount()
      const fresh = await fetchResult(operation, secret)
      expect(fresh).not.toEqual(PROOF_REQUIRED)
      await db().$executeRaw`
        UPDATE user_sessions SET proved_at = now() - interval '301 seconds'
        WHERE secret_hash = ${hashSecret(secret)}`
      const stale = await fetchResult(operation, secret)
      if (stale[0] !== 401) expect(stale).toEqual(PROOF_REQUIRED)
    },
  )
})

describe('in production', () => {
  const { TROCO_ENV } = env()
  beforeAll(() => supplyEnv({ TROCO_ENV: 'production', PUBLIC_URL: 'https://pix.troco.test' }))
  afterAll(() => supplyEnv({ TROCO_ENV, PUBLIC_URL: 'http://localhost:3000' }))

  test.each(guardedOperations.filter(({ audience }) => audience === 'admin'))(
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
