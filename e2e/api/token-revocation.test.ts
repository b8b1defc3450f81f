import { Client } from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { parseBrCode } from '#lib/core/pix/br-code.ts'
import { env } from '#lib/core/settings.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  CHARGE,
  expectBalancedLedger,
  makeToken,
  startApi,
} from '#lib/testing/fixtures.ts'
import { OPERATIONS } from '#lib/testing/route-table.ts'
import { pickSize } from '#lib/testing/size.ts'
import { pickInTurn } from '#lib/testing/turn.ts'
import { giveChild, makeWorld, resolvePath, type World } from '#lib/testing/world.ts'
import { PERMISSIONS } from '#lib/tokens/schema.ts'

const GUARDED_OPERATIONS = OPERATIONS.filter(({ allow }) => allow !== null)

let api: Api
let world: World
/** Shared by the operations that change nothing. */
let readWorld: World | undefined
/** Changes rows like another process, so that this process is not notified. */
let otherClient: Client
beforeAll(async () => {
  api = await startApi()
  otherClient = new Client({ connectionString: env().DATABASE_URL })
  await otherClient.connect()
})
afterAll(async () => {
  await otherClient.end()
  await api.close()
})

const updateToken = (token: string, change: string) =>
  otherClient.query(`UPDATE tokens SET ${change} WHERE account_id = $1 AND prefix = $2`, [
    world.merchant.id,
    token.slice(0, 20),
  ])
const updateAccount = (change: string) =>
  otherClient.query(`UPDATE accounts SET ${change} WHERE id = $1`, [world.merchant.id])

async function countRows(): Promise<unknown> {
  const tables = ['charges', 'withdrawals', 'refunds', 'events', 'ledger_transfers']
  const counts = tables.map(table => `(SELECT count(*) FROM ${table} WHERE account_id = $1)`)
  return (await otherClient.query(`SELECT ${counts}`, [world.merchant.id])).rows
}

const notAllowed = (address: string) =>
  `{"error":"This token may not be used from ${address}: add the address to the token or use another one"}`

/** In `npm test`, each operation whose turn it is is tried after a revocation and after one of these changes. */
const CHANGES = ['expiry', 'suspension', 'addresses', 'permission'] as const

const operationsInTurn = pickInTurn(GUARDED_OPERATIONS).map((operation, index) => ({
  ...operation,
  tried: pickSize<readonly string[]>([CHANGES[index % CHANGES.length] ?? ''], CHANGES),
}))

describe.each(operationsInTurn)('$method $path', ({ method, path, allow, body, tried }) => {
  const testAfter = (change: (typeof CHANGES)[number]) => test.runIf(tried.includes(change))
  let token: string
  // A second DELETE finds nothing.
  const done = method === 'DELETE' ? [200, 404] : [200, 409]
  beforeAll(async () => {
    if (method === 'GET') readWorld ??= await makeWorld(api)
    world = method === 'GET' && readWorld ? readWorld : await makeWorld(api)
  })
  afterAll(() => expectBalancedLedger(world.merchant.id))
  beforeEach(async () => {
    token = await makeToken(world.merchant.id)
    await giveChild(world, token)
    // Twice: the second request may use the cache.
    for (let count = 0; count < 2; count++) {
      expect(done).toContain((await callApi()).status)
    }
  })

  const callApi = (key?: string) =>
    call(api.url, method, resolvePath(world, path), { token, body, key })

  /** Expects a refusal of one request, of two concurrent requests and of one with a key. */
  async function expectRefused(status: number, text: string): Promise<void> {
    const before = await countRows()
    for (const response of [
      await callApi(),
      ...(await Promise.all([callApi(), callApi()])),
      await callApi(newId()),
    ]) {
      expect([response.status, response.text]).toEqual([status, text])
    }
    expect(await countRows()).toEqual(before)
  }

  test('401 from the next request after a revocation', async () => {
    await updateToken(token, `revoked_at = now(), revoked_reason = 'leaked'`)
    await expectRefused(401, '{"error":"Unauthenticated"}')
  })

  testAfter('expiry')('401 from the moment at which the token expires', async () => {
    await updateToken(token, 'expires_at = now()')
    await expectRefused(401, '{"error":"Unauthenticated"}')
  })

  testAfter('suspension')(
    '403 from the next request after a suspension, and 200 after its end',
    async () => {
      await updateAccount(`status = 'suspended'`)
      await expectRefused(403, '{"error":"Account not active"}')
      await updateAccount(`status = 'active'`)
      expect(done).toContain((await callApi()).status)
    },
  )

  testAfter('addresses')(
    '403 from the next request after the token is limited to other addresses',
    async () => {
      await updateToken(token, `allowed_addresses = '{203.0.113.0/24}'`)
      await expectRefused(403, notAllowed('127.0.0.1'))
      await updateToken(token, `allowed_addresses = '{203.0.113.0/24,127.0.0.0/8}'`)
      expect(done).toContain((await callApi()).status)
    },
  )

  testAfter('permission')('403 from the next request after the permission is removed', async () => {
    const required = allow ?? []
    const remaining = PERMISSIONS.filter(name => !required.includes(name))
    await updateToken(token, `permissions = '{${remaining}}'`)
    await expectRefused(403, `{"error":"Permission denied: ${required.join(' or ')}"}`)
    // A token grants only what it has, which is this in the body of POST /tokens.
    const enough = path === '/tokens' ? [...required, 'account:read'] : required
    await updateToken(token, `permissions = '{${enough}}'`)
    expect(done).toContain((await callApi()).status)
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
      await updateAccount(`name = '${name}'`)
      expect((await read('/account')).name).toBe(name)
    }
  })

  test('never uses outdated merchant data or an outdated expiry in a charge', async () => {
    await create()
    await updateAccount(`name = 'Loja Nova', city = 'RECIFE', expires_in = 120`)
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
    const callApi = () => call(api.url, 'POST', '/transactions', { token: reader, body: CHARGE })
    for (let count = 0; count < 3; count++) expect((await callApi()).status).toBe(403)
    expect((await create()).status).toBe('pending')
  })
})
