import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { db } from '#lib/base/db/client.ts'
import { env, supplyEnv } from '#lib/base/env.ts'
import { hashSecret } from '#lib/services/people/secret.ts'
import { knock, personHeaders, signInAdmin, signInAlone } from '#lib/testing/member.ts'
import { DOOR_OPERATIONS, type DoorOperation } from '#lib/testing/route-table.ts'
import { type Api, startApi } from '#lib/testing/stage.ts'

const PROVE = [403, '{"error":"Confirm that it is you"}']
const guarded = DOOR_OPERATIONS.filter(({ who }) => who !== 'visitor')

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

async function heard(operation: DoorOperation, secret: string) {
  const { status, text } = await knock(api.url, operation, personHeaders(secret))
  return [status, text]
}

describe('with an https PUBLIC_URL', () => {
  const at = env().PUBLIC_URL
  beforeAll(() => supplyEnv({ PUBLIC_URL: 'https://pix.troco.test' }))
  afterAll(() => supplyEnv({ PUBLIC_URL: at }))

  test.each(guarded.filter(one => one.takesProof))(
    '$method $path requires a new proof of identity after five minutes',
    async operation => {
      const secret = operation.who === 'admin' ? await signInAdmin() : await signInAlone()
      const proved = await heard(operation, secret)
      expect(proved).not.toEqual(PROVE)
      await db().$executeRaw`
        UPDATE user_sessions SET proved_at = now() - interval '301 seconds'
        WHERE secret_hash = ${hashSecret(secret)}`
      const later = await heard(operation, secret)
      if (later[0] !== 401) expect(later).toEqual(PROVE)
    },
  )
})

describe('in production', () => {
  const { TROCO_ENV } = env()
  beforeAll(() => supplyEnv({ TROCO_ENV: 'production', PUBLIC_URL: 'https://pix.troco.test' }))
  afterAll(() => supplyEnv({ TROCO_ENV, PUBLIC_URL: 'http://localhost:3000' }))

  test.each(guarded.filter(({ who }) => who === 'admin'))(
    '$method $path refuses staff without a second factor',
    async operation => {
      const said = await knock(api.url, operation, personHeaders(await signInAlone(true)))
      expect([said.status, said.headers.get('x-error-code')]).toEqual([
        403,
        'second_factor_required',
      ])
    },
  )
})
