import { expect, test } from 'vitest'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { createCharge } from '#lib/charges/create.ts'
import { chargeRow } from '#lib/charges/list.ts'
import { parseDatabaseError } from '#lib/core/errors.ts'
import { newId } from '#lib/core/ids.ts'
import { processWide } from '#lib/core/process-wide.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { connectBank } from '#lib/testing/connection.ts'
import { query } from '#lib/testing/embedded.ts'
import { CHARGE, makeMerchant, makeToken } from '#lib/testing/fixtures.ts'
import {
  authenticateToken,
  isProvenSql,
  makeToken as makeTokenText,
  provenColumns,
  type TokenCaller,
  tokenProof,
} from '#lib/tokens/authenticate.ts'
import { PERMISSIONS } from '#lib/tokens/schema.ts'

async function setTimes(accountId: string, column: 'expires_at' | 'last_used_at', seconds: number) {
  const changed =
    column === 'expires_at'
      ? await db().$executeRaw`
          UPDATE tokens SET expires_at = now() + make_interval(secs => ${seconds}::float8)
          WHERE account_id = ${accountId}::uuid`
      : await db().$executeRaw`
          UPDATE tokens SET last_used_at = now() + make_interval(secs => ${seconds}::float8)
          WHERE account_id = ${accountId}::uuid`
  expect(changed).toBe(1)
}

async function lastUseOf(accountId: string): Promise<string | undefined> {
  const [row] = await db().$queryRaw<{ at: string }[]>`
    SELECT last_used_at::text AS at FROM tokens WHERE account_id = ${accountId}::uuid`
  return row?.at
}

test('a token returns its account, mode and permissions', async () => {
  const merchant = await makeMerchant('Padaria')
  const all = await makeToken(merchant.id)
  const narrow = await makeToken(merchant.id, { permissions: ['account:read'] })
  expect(await authenticateToken(all)).toEqual({
    key: expect.any(String),
    tokenId: expect.any(String),
    isAllowedFrom: expect.any(Function),
    proven: expect.anything(),
    isStale: true,
    found: null,
    issuedBy: null,
    formerIssuers: [],
    mode: 'test',
    permissions: [...PERMISSIONS],
    account: {
      id: merchant.id,
      name: 'Padaria',
      city: 'BRASILIA',
      expiresIn: 86_400,
      isActive: true,
      receivingConnectionId: SIMULATOR_CONNECTION_ID,
      payingConnectionId: SIMULATOR_CONNECTION_ID,
    },
  })
  expect((await authenticateToken(narrow))?.permissions).toEqual(['account:read'])
})

test('a token with a valid checksum that was never issued is refused', async () => {
  expect(await authenticateToken(makeTokenText(newId(), 'test'))).toBeNull()
  expect(await authenticateToken(makeTokenText(newId(), 'live'))).toBeNull()
})

test('a mistyped token is refused without a database query', async () => {
  const merchant = await makeMerchant()
  const token = await makeToken(merchant.id)
  const shared = processWide('db', (): { opened: unknown } => expect.unreachable())
  const { opened } = shared
  const tripwire = new Proxy({}, { get: () => expect.unreachable('the database was asked') })
  shared.opened = { database: tripwire, pool: tripwire }
  try {
    const lastCharacter = token.endsWith('0') ? '1' : '0'
    expect(await authenticateToken(token.slice(0, -1) + lastCharacter)).toBeNull()
    expect(await authenticateToken(token.replace('_test_', '_live_'))).toBeNull()
    expect(await authenticateToken(`${token} `)).toBeNull()
    expect(await authenticateToken('')).toBeNull()
    await expect(authenticateToken(token)).rejects.toThrow('the database was asked')
  } finally {
    shared.opened = opened
  }
  expect(await authenticateToken(token)).not.toBeNull()
})

test("expiry follows the database's clock", async () => {
  const merchant = await makeMerchant()
  const token = await makeToken(merchant.id, { expiresAt: new Date(Date.now() + 3_600_000) })
  expect(await authenticateToken(token)).not.toBeNull()
  await setTimes(merchant.id, 'expires_at', -0.001)
  expect(await authenticateToken(token)).toBeNull()
  await setTimes(merchant.id, 'expires_at', 60)
  expect(await authenticateToken(token)).not.toBeNull()
})

test('the last use is written at most once a minute', async () => {
  const merchant = await makeMerchant()
  const token = await makeToken(merchant.id)
  expect(await lastUseOf(merchant.id)).toBeNull()
  await Promise.all(Array.from({ length: 20 }, () => authenticateToken(token)))
  const first = await lastUseOf(merchant.id)
  expect(first).not.toBeNull()
  await authenticateToken(token)
  expect(await lastUseOf(merchant.id)).toBe(first)

  await setTimes(merchant.id, 'last_used_at', -30)
  const half = await lastUseOf(merchant.id)
  await authenticateToken(token)
  expect(await lastUseOf(merchant.id)).toBe(half)

  await setTimes(merchant.id, 'last_used_at', -61)
  const old = await lastUseOf(merchant.id)
  await authenticateToken(token)
  expect(await lastUseOf(merchant.id)).not.toBe(old)
})

test('a request from an address that a token refuses is no use of it', async () => {
  const merchant = await makeMerchant()
  const token = await makeToken(merchant.id)
  const where = { accountId: merchant.id }
  await db().token.updateMany({ where, data: { allowedAddresses: ['203.0.113.0/24'] } })
  expect((await authenticateToken(token, '198.51.100.7'))?.isAllowedFrom('198.51.100.7')).toBe(
    false,
  )
  expect(await lastUseOf(merchant.id)).toBeNull()
  await authenticateToken(token, '203.0.113.7')
  expect(await lastUseOf(merchant.id)).not.toBeNull()
})

test('stored hashes are useless under another TROCO_SECRET', async () => {
  const merchant = await makeMerchant()
  const token = await makeToken(merchant.id)
  const secret = env().TROCO_SECRET ?? ''
  try {
    supplyEnv({ TROCO_SECRET: 'another-server-key-that-only-this-test-knows-0123' })
    expect(await authenticateToken(token)).toBeNull()
  } finally {
    supplyEnv({ TROCO_SECRET: secret })
  }
  expect(await authenticateToken(token)).not.toBeNull()
})

test('a token hashed under TROCO_SECRET_BEFORE works and is rehashed under the current secret', async () => {
  const merchant = await makeMerchant()
  const token = await makeToken(merchant.id)
  const before = env().TROCO_SECRET ?? ''
  const after = 'another-server-key-that-only-this-test-knows-0124'
  try {
    supplyEnv({ TROCO_SECRET: after })
    expect(await authenticateToken(token)).toBeNull()
    supplyEnv({ TROCO_SECRET_BEFORE: before })
    const callers = await Promise.all(Array.from({ length: 10 }, () => authenticateToken(token)))
    expect(new Set(callers.map(caller => caller?.account.id))).toEqual(new Set([merchant.id]))
    supplyEnv({ TROCO_SECRET_BEFORE: '' })
    expect(await authenticateToken(token)).not.toBeNull()
  } finally {
    supplyEnv({ TROCO_SECRET: before, TROCO_SECRET_BEFORE: '' })
  }
})

const CHANGES: Record<string, [change: string]> = {
  'a revoked token': [`UPDATE tokens SET revoked_at = now() WHERE account_id = $1`],
  'an expired token': [
    `UPDATE tokens SET created_at = now() - interval '2 days', expires_at = now() - interval '1 second' WHERE account_id = $1`,
  ],
  'a token with other addresses': [
    `UPDATE tokens SET allowed_addresses = '{::1}' WHERE account_id = $1`,
  ],
  'a token of another account': ['UPDATE tokens SET account_id = $2 WHERE account_id = $1'],
  'a token of a suspended account': [`UPDATE accounts SET status = 'suspended' WHERE id = $1`],
}

test.each(Object.entries(CHANGES))(
  'a statement that moves money out is refused for %s, whoever was looked up before',
  async (_, [change]) => {
    const merchant = await makeMerchant()
    const other = await makeMerchant()
    const token = await makeToken(merchant.id)
    const caller = (await authenticateToken(token)) ?? expect.unreachable()
    const prove = () => db().$queryRaw<{ id: string }[]>`SELECT ${tokenProof(caller)} AS id`
    expect(await prove()).toEqual([{ id: merchant.id }])
    const request = JSON.stringify({ account_id: merchant.id, ...caller.proven })
    const isProven = () => db().$queryRaw<{ is: boolean }[]>`
      SELECT ${isProvenSql()} AS is FROM json_to_record(${request}::json) AS s (account_id uuid, ${provenColumns})`
    expect(await isProven()).toEqual([{ is: true }])
    const statement = change.replaceAll('$1', `'${merchant.id}'`).replace('$2', `'${other.id}'`)
    await query(env().DATABASE_URL ?? '', statement)
    expect(parseDatabaseError(await prove().catch(reason => reason)).code).toBe('TR401')
    expect(await isProven()).toEqual([{ is: false }])
  },
)

test.each<[string, string, (caller: TokenCaller) => unknown, unknown]>([
  [
    'permissions',
    `UPDATE tokens SET permissions = '{account:read}' WHERE account_id = $1`,
    caller => caller.permissions,
    ['account:read'],
  ],
  [
    'name',
    `UPDATE accounts SET name = 'Outra' WHERE id = $1`,
    caller => caller.account.name,
    'Outra',
  ],
  [
    'lifetime of charges',
    'UPDATE accounts SET expires_in = 60 WHERE id = $1',
    caller => caller.account.expiresIn,
    60,
  ],
  [
    'status',
    `UPDATE accounts SET status = 'suspended' WHERE id = $1`,
    caller => caller.account.isActive,
    false,
  ],
  [
    'addresses',
    `UPDATE tokens SET allowed_addresses = '{203.0.113.7}' WHERE account_id = $1`,
    caller => caller.isAllowedFrom('::1'),
    false,
  ],
  [
    'receiving connection',
    'UPDATE accounts SET receiving_connection_id = NULL WHERE id = $1',
    caller => caller.account.receivingConnectionId,
    null,
  ],
  [
    'paying connection',
    'UPDATE accounts SET paying_connection_id = NULL WHERE id = $1',
    caller => caller.account.payingConnectionId,
    null,
  ],
])('the next request sees a change of the %s', async (_, change, read, expected) => {
  const merchant = await makeMerchant()
  await connectBank(new StubBank(), merchant)
  const token = await makeToken(merchant.id, { mode: 'live' })
  expect(read((await authenticateToken(token)) ?? expect.unreachable())).not.toEqual(expected)
  await query(env().DATABASE_URL ?? '', change.replaceAll('$1', `'${merchant.id}'`))
  expect(read((await authenticateToken(token)) ?? expect.unreachable())).toEqual(expected)
})

test('look-ups at the same time find each its own caller, and none for what is no token', async () => {
  const merchants = await Promise.all(Array.from({ length: 5 }, () => makeMerchant()))
  const tokens = await Promise.all(merchants.map(({ id }) => makeToken(id)))
  const unknown = makeTokenText(newId(), 'test')
  const sent = Array.from({ length: 200 }, (_, nth) => tokens[nth % 6] ?? unknown)
  const callers = await Promise.all(sent.map(token => authenticateToken(token)))
  expect(callers.map(caller => caller?.account.id)).toEqual(
    sent.map((_, nth) => merchants[nth % 6]?.id),
  )
})

test('a look-up reads a row along, only of its own account and mode', async () => {
  const [mine, other] = [await makeMerchant(), await makeMerchant()]
  const [test, live] = [await makeToken(mine.id), await makeToken(mine.id, { mode: 'live' })]
  const { id } = await createCharge(mine, 'test', CHARGE, null)
  const { id: foreignId } = await createCharge(other, 'test', CHARGE, null)
  const read = async (token: string, wanted: string) =>
    (await authenticateToken(token, '::1', { row: chargeRow, id: wanted }))?.found?.value
  const wanted: [token: string, id: string][] = [
    [test, id],
    [live, id],
    [test, foreignId],
    [test, newId()],
  ]
  const sent = Array.from({ length: 40 }, (_, nth) => wanted[nth % 4] ?? expect.unreachable())
  const found = await Promise.all(sent.map(([token, each]) => read(token, each)))
  const expected = await chargeRow.find(mine.id, 'test', id)
  expect(expected).toMatchObject({ id })
  expect(found).toEqual(sent.map((_, nth) => (nth % 4 === 0 ? expected : null)))
})
