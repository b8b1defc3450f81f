import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { disconnect } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'
import { ownerUrlOf } from '#lib/testing/database.ts'
import { type Api, makeDatabase, makeMerchant, makeToken, startApi } from '#lib/testing/fixtures.ts'

/**
 * PostgreSQL may skip conditions on tables that it knows to be empty. An invalid token must be
 * refused even then. The database is not shared, because other tests would insert rows.
 */
const sharedUrl = env().DATABASE_URL ?? ''
let api: Api
let client: Client
beforeAll(async () => {
  const ownUrl = await makeDatabase()
  supplyEnv({ DATABASE_URL: ownUrl })
  client = new Client({ connectionString: ownerUrlOf(ownUrl) })
  await client.connect()
  api = await startApi()
})
afterAll(async () => {
  await client.end()
  await api.close()
  supplyEnv({ DATABASE_URL: sharedUrl })
  await disconnect()
})

test.each([
  ['revoked', `UPDATE tokens SET revoked_at = now()`, 401],
  ['expired', `UPDATE tokens SET expires_at = now()`, 401],
  ['of a suspended account', `UPDATE accounts SET status = 'suspended'`, 403],
  ['without permissions', `UPDATE tokens SET permissions = '{}'`, 403],
])(
  'a token that is now %s is refused although every list is empty',
  async (_what, change, status) => {
    const token = await makeToken((await makeMerchant()).id)
    await client.query('VACUUM ANALYZE')
    for (const path of [
      '/transactions',
      '/withdrawals',
      '/transactions/x',
      '/account',
      '/events',
    ]) {
      for (let count = 0; count < 2; count++) await call(api.url, 'GET', path, { token })
    }
    await client.query(change)
    const responses = await Promise.all(
      ['/transactions', '/withdrawals', '/transactions/x', '/account', '/events'].map(path =>
        call(api.url, 'GET', path, { token }),
      ),
    )
    expect(responses.map(response => response.status)).toEqual(Array(5).fill(status))
  },
)
