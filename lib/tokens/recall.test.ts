import { expect, test } from 'vitest'
import { parseDatabaseError } from '#lib/core/errors.ts'
import type { Mode } from '#lib/core/mode.ts'
import { env } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { connectBank } from '#lib/testing/connection.ts'
import { query } from '#lib/testing/embedded.ts'
import { makeMerchant, makeToken } from '#lib/testing/fixtures.ts'
import { CALLER_COLUMNS, type CallerRow } from '#lib/tokens/caller-row.ts'
import { findRememberedCaller, rememberCaller } from '#lib/tokens/recall.ts'
import { verifyToken } from '#lib/tokens/verify.ts'

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
    ...{ ...rest, ...columns, accountId: '', status: '', allowedAddresses: [] },
    ...{ parentId: null, parentAddresses: null },
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
