import { beforeAll, expect, test } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { makeMerchant, makeToken } from '#lib/testing/fixtures.ts'
import { authenticateToken } from '#lib/tokens/authenticate.ts'
import { revokeToken } from '#lib/tokens/change.ts'

const ACTOR = { type: 'user', id: newId() } as const
beforeAll(async () => {
  const email = `ana-${ACTOR.id}@troco.example`
  await db().user.create({ data: { id: ACTOR.id, email, name: 'Ana' } })
})

async function issue() {
  const merchant = await makeMerchant()
  const token = await makeToken(merchant.id)
  const { id } = await db().token.findFirstOrThrow({ where: { accountId: merchant.id } })
  return { merchant, token, id }
}

function recordsOf(id: string) {
  return db().auditRecord.findMany({ where: { target: id, action: 'token.revoked' } })
}

test('a revoked token is refused at its next use, and its row stores the reason', async () => {
  const { merchant, token, id } = await issue()
  const otherToken = await makeToken(merchant.id)
  expect(await authenticateToken(token)).not.toBeNull()
  expect(await revokeToken(id, 'leaked', ACTOR)).toEqual({ id })
  expect(await authenticateToken(token)).toBeNull()
  expect(await authenticateToken(otherToken)).not.toBeNull()
  const row = await db().token.findFirstOrThrow({ where: { accountId: merchant.id, id } })
  expect(row).toMatchObject({
    revokedReason: 'leaked',
    revokedBy: ACTOR.id,
    revokedAt: expect.any(Date),
  })
  expect(await recordsOf(id)).toMatchObject([
    { accountId: merchant.id, reason: 'leaked', actorId: ACTOR.id },
  ])
})

test('20 concurrent revocations and a later one take effect once, with one audit record', async () => {
  const { id } = await issue()
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, index) => revokeToken(id, `reason ${index}`, ACTOR)),
  )
  expect(outcomes.filter(outcome => outcome !== null)).toEqual([{ id }])
  expect(await revokeToken(id, 'late', ACTOR)).toBeNull()
  expect(await recordsOf(id)).toHaveLength(1)
})

test('a token can be identified by its first 20 characters', async () => {
  const { token, id } = await issue()
  expect(await revokeToken(token.slice(0, 20), 'leaked', ACTOR)).toEqual({ id })
  expect(await authenticateToken(token)).toBeNull()
})

test('a token can be identified by its full text, which errors do not repeat', async () => {
  const { token, id } = await issue()
  const mistyped = `${token.slice(0, -1)}${token.endsWith('x') ? 'y' : 'x'}`
  await expect(revokeToken(mistyped, 'leaked', ACTOR)).rejects.not.toThrow(mistyped)
  expect(await revokeToken(token, 'leaked', ACTOR)).toEqual({ id })
  expect(await authenticateToken(token)).toBeNull()
})

test('a prefix of several tokens, or of none, revokes none', async () => {
  const [first, second] = [await issue(), await issue()]
  await expect(revokeToken('troco_test_', 'x', ACTOR)).rejects.toMatchObject({
    code: 'not_found',
  })
  // There are 62 possible first characters, so two of 63 tokens must begin with the same one.
  const starts = new Set<string>()
  let sharedPrefix = ''
  for (let issued = 0; issued < 63 && sharedPrefix === ''; issued++) {
    const start = (await issue()).token.slice(0, 12)
    if (starts.has(start)) sharedPrefix = start
    starts.add(start)
  }
  await expect(revokeToken(sharedPrefix, 'x', ACTOR)).rejects.toMatchObject({
    code: 'not_found',
    message: expect.stringContaining('pass more of them'),
  })
  for (const identifier of ['', 'troco', newId(), 'troco_test_!', 'nothing', `${first.token}x`]) {
    await expect(revokeToken(identifier, 'x', ACTOR)).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('Token not found'),
    })
  }
  expect(await authenticateToken(first.token)).not.toBeNull()
  expect(await authenticateToken(second.token)).not.toBeNull()
})
