import { afterAll, beforeAll, expect } from 'vitest'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { disconnect } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'
import { type Api, makeMerchant, makeToken, startApi } from '#lib/testing/fixtures.ts'
import { LISTS } from '#lib/testing/lists.ts'
import { pickSize } from '#lib/testing/size.ts'
import { testInTorture } from '#lib/testing/torture.ts'

/** So small that the requests wait longer than the 2 s after which a stalled database is given up. */
const POOL_MAX = 2
const LARGE_CHARGE_FIELDS = { items: [{ name: 'é'.repeat(28_000) }] }
/** Requests of each account. */
const COUNTS = [pickSize(60, 130), pickSize(50, 120), 10]
const TOTAL = COUNTS.reduce((sum, count) => sum + count)

const poolMax = `${env().DATABASE_POOL_MAX}`
let api: Api
let tokens: string[]
beforeAll(async () => {
  supplyEnv({ DATABASE_POOL_MAX: `${POOL_MAX}` })
  await disconnect()
  api = await startApi()
  tokens = await Promise.all(
    COUNTS.map(async () => {
      const { id } = await makeMerchant()
      for (let nth = 0; nth < 100; nth++) await LISTS[0]?.insert(id, LARGE_CHARGE_FIELDS)
      return makeToken(id)
    }),
  )
})
afterAll(async () => {
  await api.close()
  supplyEnv({ DATABASE_POOL_MAX: poolMax })
})

testInTorture(
  `${TOTAL} parallel reads of three tokens wait for two connections, and none is refused`,
  async () => {
    const reads = tokens.flatMap((token, account) =>
      Array.from({ length: COUNTS[account] ?? 0 }, async () => {
        const { status } = await call(api.url, 'GET', '/transactions?limit=100', { token })
        return status
      }),
    )
    const statuses = await Promise.all(reads)
    expect(statuses.filter(status => status !== 200)).toEqual([])
  },
)
