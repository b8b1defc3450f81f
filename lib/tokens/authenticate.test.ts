import { expect, test } from 'vitest'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { parseDatabaseError } from '#lib/core/errors.ts'
import { newId } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { processWide } from '#lib/core/process-wide.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { connectBank } from '#lib/testing/connection.ts'
import { query } from '#lib/testing/embedded.ts'
import { makeMerchant, makeToken } from '#lib/testing/fixtures.ts'
import {
  CALLER_COLUMNS,
  type CallerRow,
  findRememberedCaller,
  rememberCaller,
  verifyToken,
} from '#lib/tokens/authenticate.ts'
import { PERMISSIONS } from '#lib/tokens/schema.ts'
import { makeToken as makeTokenText } from '#lib/tokens/token.ts'

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
  expect(await verifyToken(all)).toEqual({
    key: expect.any(String),
    proof: expect.anything(),
    tokenId: expect.any(String),
    isAllowedFrom: expect.any(Function),
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
  expect((await verifyToken(narrow))?.permissions).toEqual(['account:read'])
})

test('a token with a valid checksum that was never issued is refused', async () => {
  expect(await verifyToken(makeTokenText(newId(), 'test'))).toBeNull()
  expect(await verifyToken(makeTokenText(newId(), 'live'))).toBeNull()
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
    expect(await verifyToken(token.slice(0, -1) + lastCharacter)).toBeNull()
    expect(await verifyToken(token.replace('_test_', '_live_'))).toBeNull()
    expect(await verifyToken(`${token} `)).toBeNull()
    expect(await verifyToken('')).toBeNull()
    await expect(verifyToken(token)).rejects.toThrow('the database was asked')
  } finally {
    shared.opened = opened
  }
  expect(await verifyToken(token)).not.toBeNull()
})

test("expiry follows the database's clock", async () => {
  const merchant = await makeMerchant()
  const token = await makeToken(merchant.id, { expiresAt: new Date(Date.now() + 3_600_000) })
  expect(await verifyToken(token)).not.toBeNull()
  await setTimes(merchant.id, 'expires_at', -0.001)
  expect(await verifyToken(token)).toBeNull()
  await setTimes(merchant.id, 'expires_at', 60)
  expect(await verifyToken(token)).not.toBeNull()
})

test('the last use is written at most once a minute', async () => {
  const merchant = await makeMerchant()
  const token = await makeToken(merchant.id)
  expect(await lastUseOf(merchant.id)).toBeNull()
  await Promise.all(Array.from({ length: 20 }, () => verifyToken(token)))
  const first = await lastUseOf(merchant.id)
  expect(first).not.toBeNull()
  await verifyToken(token)
  expect(await lastUseOf(merchant.id)).toBe(first)

  await setTimes(merchant.id, 'last_used_at', -30)
  const half = await lastUseOf(merchant.id)
  await verifyToken(token)
  expect(await lastUseOf(merchant.id)).toBe(half)

  await setTimes(merchant.id, 'last_used_at', -61)
  const old = await lastUseOf(merchant.id)
  await verifyToken(token)
  expect(await lastUseOf(merchant.id)).not.toBe(old)
})

test('a request from an address that a token refuses is no use of it', async () => {
  const merchant = await makeMerchant()
  const token = await makeToken(merchant.id)
  const where = { accountId: merchant.id }
  await db().token.updateMany({ where, data: { allowedAddresses: ['203.0.113.0/24'] } })
  expect((await verifyToken(token, '198.51.100.7'))?.isAllowedFrom('198.51.100.7')).toBe(false)
  expect(await lastUseOf(merchant.id)).toBeNull()
  expect(findRememberedCaller(token)).toBeNull()
  await verifyToken(token, '203.0.113.7')
  expect(await lastUseOf(merchant.id)).not.toBeNull()
})

test('stored hashes are useless under another TROCO_SECRET', async () => {
  const merchant = await makeMerchant()
  const token = await makeToken(merchant.id)
  const secret = env().TROCO_SECRET ?? ''
  try {
    supplyEnv({ TROCO_SECRET: 'another-server-key-that-only-this-test-knows-0123' })
    expect(await verifyToken(token)).toBeNull()
  } finally {
    supplyEnv({ TROCO_SECRET: secret })
  }
  expect(await verifyToken(token)).not.toBeNull()
})

test('a token hashed under TROCO_SECRET_BEFORE works and is rehashed under the current secret', async () => {
  const merchant = await makeMerchant()
  const token = await makeToken(merchant.id)
  const before = env().TROCO_SECRET ?? ''
  const after = 'another-server-key-that-only-this-test-knows-0124'
  try {
    supplyEnv({ TROCO_SECRET: after })
    expect(await verifyToken(token)).toBeNull()
    supplyEnv({ TROCO_SECRET_BEFORE: before })
    const callers = await Promise.all(Array.from({ length: 10 }, () => verifyToken(token)))
    expect(new Set(callers.map(caller => caller?.account.id))).toEqual(new Set([merchant.id]))
    supplyEnv({ TROCO_SECRET_BEFORE: '' })
    expect(await verifyToken(token)).not.toBeNull()
  } finally {
    supplyEnv({ TROCO_SECRET: before, TROCO_SECRET_BEFORE: '' })
  }
})

async function makeRememberedToken(mode: Mode = 'test') {
  const merchant = await makeMerchant()
  await connectBank(new StubBank(), merchant)
  const token = await makeToken(merchant.id, { mode })
  await verifyToken(token)
  return { merchant, token }
}

/** Selects the proof, which every statement of a remembered caller contains. */
async function readProvenAccountId(token: string): Promise<string> {
  const caller = findRememberedCaller(token)
  if (!caller) throw new Error('The caller is not remembered')
  const [row] = await db().$queryRaw<{ id: string }[]>`SELECT ${caller.proof} AS id`
  return row?.id ?? ''
}

test('a remembered caller has exactly the columns that its proof compares', async () => {
  const { merchant, token } = await makeRememberedToken()
  expect(await readProvenAccountId(token)).toBe(merchant.id)
  const {
    key: _key,
    isAllowedFrom: _isAllowedFrom,
    proof: _proof,
    tokenId: _tokenId,
    account,
    ...rest
  } = findRememberedCaller(token) ?? expect.unreachable()
  const { id: _id, isActive: _isActive, ...columns } = account
  const compared = Object.keys({
    ...rest,
    ...columns,
    accountId: '',
    status: '',
    allowedAddresses: [],
    parentId: null,
    parentAddresses: null,
  })
  expect(compared.sort()).toEqual(Object.keys(CALLER_COLUMNS).sort())
})

/** Changes each column once; the type requires all of them. child.test.ts changes those of a parent. */
const CHANGES: Record<Exclude<keyof CallerRow, 'parentAddresses'>, string> = {
  accountId: 'UPDATE tokens SET account_id = $2 WHERE account_id = $1',
  mode: `UPDATE tokens SET mode = 'live' WHERE account_id = $1`,
  permissions: `UPDATE tokens SET permissions = '{account:read}' WHERE account_id = $1`,
  name: `UPDATE accounts SET name = 'Outra' WHERE id = $1`,
  city: `UPDATE accounts SET city = 'SANTOS' WHERE id = $1`,
  expiresIn: 'UPDATE accounts SET expires_in = 60 WHERE id = $1',
  issuedBy: `UPDATE tokens SET issued_by = (SELECT id FROM users LIMIT 1) WHERE account_id = $1`,
  formerIssuers: 'UPDATE tokens SET former_issuers = ARRAY[$1::uuid] WHERE account_id = $1',
  allowedAddresses: `UPDATE tokens SET allowed_addresses = '{::1}' WHERE account_id = $1`,
  parentId: `UPDATE tokens SET permissions = '{}', parent_id = id WHERE account_id = $1`,
  status: `UPDATE accounts SET status = 'suspended' WHERE id = $1`,
  receivingConnectionId: 'UPDATE accounts SET receiving_connection_id = NULL WHERE id = $1',
  payingConnectionId: 'UPDATE accounts SET paying_connection_id = NULL WHERE id = $1',
}
const LIVE_FIELDS = ['receivingConnectionId', 'payingConnectionId']

test.each(Object.entries(CHANGES))(
  'a statement of a remembered caller is refused after its %s has changed',
  async (field, change) => {
    const { merchant, token } = await makeRememberedToken(
      LIVE_FIELDS.includes(field) ? 'live' : 'test',
    )
    const otherMerchant = await makeMerchant()
    const statement = change
      .replaceAll('$1', `'${merchant.id}'`)
      .replace('$2', `'${otherMerchant.id}'`)
    await query(env().DATABASE_URL ?? '', statement)
    const error = await readProvenAccountId(token).catch(reason => reason)
    expect(parseDatabaseError(error).code).toBe('TR401')
  },
)

test('at most 10,000 callers are remembered, the latest', async () => {
  const [early, late] = [await makeRememberedToken(), await makeRememberedToken()]
  const caller = findRememberedCaller(late.token) ?? expect.unreachable()
  expect(findRememberedCaller(early.token)).not.toBeNull()
  for (let count = 0; count < 9_999; count++) rememberCaller({ ...caller, key: `key ${count}` })
  expect(findRememberedCaller(early.token)).toBeNull()
  expect(findRememberedCaller(late.token)).not.toBeNull()
})
