import { Client } from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { env } from '#lib/base/env.ts'
import { newId } from '#lib/base/ids.ts'
import { parseBrCode } from '#lib/base/pix/br-code.ts'
import { PERMISSIONS } from '#lib/rooms/tokens/schema.ts'
import { call } from '#lib/testing/call.ts'
import { OPERATIONS } from '#lib/testing/route-table.ts'
import { type Api, CHARGE, expectBalancedBooks, makeToken, startApi } from '#lib/testing/stage.ts'
import { addressIn, makeWorld, type World } from '#lib/testing/world.ts'

const GUARDED = OPERATIONS.filter(({ allow }) => allow !== null)

let api: Api
let world: World
/** Changes rows as another process does: this process is not notified. */
let elsewhere: Client
beforeAll(async () => {
  api = await startApi()
  elsewhere = new Client({ connectionString: env().DATABASE_URL })
  await elsewhere.connect()
})
afterAll(async () => {
  await elsewhere.end()
  await api.close()
})

const ofToken = (token: string, change: string) =>
  elsewhere.query(`UPDATE tokens SET ${change} WHERE account_id = $1 AND prefix = $2`, [
    world.merchant.id,
    token.slice(0, 20),
  ])
const ofAccount = (change: string) =>
  elsewhere.query(`UPDATE accounts SET ${change} WHERE id = $1`, [world.merchant.id])

async function rowCounts(): Promise<unknown> {
  const tables = ['charges', 'withdrawals', 'refunds', 'events', 'ledger_transfers']
  const counts = tables.map(table => `(SELECT count(*) FROM ${table} WHERE account_id = $1)`)
  return (await elsewhere.query(`SELECT ${counts}`, [world.merchant.id])).rows
}

describe.each(GUARDED)('$method $path', ({ method, path, allow, body }) => {
  let token: string
  beforeAll(async () => {
    world = await makeWorld(api)
  })
  afterAll(() => expectBalancedBooks(world.merchant.id))
  beforeEach(async () => {
    token = await makeToken(world.merchant.id)
    // Twice: the second request may use the cache.
    for (let count = 0; count < 2; count++) {
      expect([200, 409]).toContain((await ask()).status)
    }
  })

  const ask = (key?: string) => call(api.url, method, addressIn(world, path), { token, body, key })

  /** Sends one request, two concurrent ones and one with an idempotency key. */
  async function expectRefused(status: number, text: string): Promise<void> {
    const before = await rowCounts()
    for (const answer of [
      await ask(),
      ...(await Promise.all([ask(), ask()])),
      await ask(newId()),
    ]) {
      expect([answer.status, answer.text]).toEqual([status, text])
    }
    expect(await rowCounts()).toEqual(before)
  }

  test('401 from the next request after a revocation', async () => {
    await ofToken(token, `revoked_at = now(), revoked_reason = 'leaked'`)
    await expectRefused(401, '{"error":"Unauthenticated"}')
  })

  test('401 from the moment at which the token expires', async () => {
    await ofToken(token, 'expires_at = now()')
    await expectRefused(401, '{"error":"Unauthenticated"}')
  })

  test('403 from the next request after a suspension, and 200 after its end', async () => {
    await ofAccount(`status = 'suspended'`)
    await expectRefused(403, '{"error":"Account not active"}')
    await ofAccount(`status = 'active'`)
    expect([200, 409]).toContain((await ask()).status)
  })

  test('403 from the next request after the permission is removed', async () => {
    const needed = allow ?? []
    const left = PERMISSIONS.filter(name => !needed.includes(name))
    await ofToken(token, `permissions = '{${left}}'`)
    await expectRefused(403, `{"error":"Permission denied: ${needed.join(' or ')}"}`)
    await ofToken(token, `permissions = '{${needed}}'`)
    expect([200, 409]).toContain((await ask()).status)
  })
})

describe('the cache of an account', () => {
  beforeEach(async () => {
    world = await makeWorld(api)
  })
  const read = async (path: string) =>
    (await call(api.url, 'GET', path, { token: world.token })).body
  const create = async () =>
    (await call(api.url, 'POST', '/transactions', { token: world.token, body: CHARGE })).body.data

  test('never returns an outdated name', async () => {
    for (const name of ['Loja Nova', 'Loja Novíssima']) {
      expect((await read('/account')).name).not.toBe(name)
      await ofAccount(`name = '${name}'`)
      expect((await read('/account')).name).toBe(name)
    }
  })

  test('never uses outdated merchant data or an outdated expiry in a charge', async () => {
    await create()
    await ofAccount(`name = 'Loja Nova', city = 'RECIFE', expires_in = 120`)
    const { br_code, transaction_id } = await create()
    const code = { merchantName: 'Loja Nova', merchantCity: 'RECIFE' }
    expect(parseBrCode(br_code)).toMatchObject({ ok: true, code })
    const { created_at, expires_at } = (await read(`/transactions/${transaction_id}`)).data
    expect(Date.parse(expires_at) - Date.parse(created_at)).toBe(120_000)
  })

  test('does not mix the permissions of two tokens', async () => {
    const permissions = ['account:read' as const]
    const reader = await makeToken(world.merchant.id, { permissions })
    expect((await create()).status).toBe('pending')
    const ask = () => call(api.url, 'POST', '/transactions', { token: reader, body: CHARGE })
    for (let count = 0; count < 3; count++) expect((await ask()).status).toBe(403)
    expect((await create()).status).toBe('pending')
  })
})
