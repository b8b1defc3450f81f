import { createHash } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { leaveAccount, removeMember } from '#lib/accounts/members.ts'
import { isTrocoError, parseDatabaseError } from '#lib/core/errors.ts'
import { newId } from '#lib/core/ids.ts'
import { env } from '#lib/core/settings.ts'
import { db, type Prisma } from '#lib/db/client.ts'
import { query } from '#lib/testing/embedded.ts'
import { makeMerchant } from '#lib/testing/fixtures.ts'
import { testInTorture } from '#lib/testing/torture.ts'
import { VERIFIED } from '#lib/testing/verified.ts'
import { authenticateToken, tokenProof } from '#lib/tokens/authenticate.ts'
import {
  adoptToken,
  changeAddresses,
  createTokenAdoption,
  revokeAccountTokens,
  revokeChildren,
  revokeOwnToken,
  rotateToken,
} from '#lib/tokens/change.ts'
import { issueToken, type NewToken } from '#lib/tokens/issue.ts'
import { listTokens, readToken } from '#lib/tokens/queries.ts'
import type { Permission } from '#lib/tokens/schema.ts'

async function ownerOf(accountId: string) {
  const { userId } = await db().membership.findFirstOrThrow({ where: { accountId } })
  return { type: 'user', id: userId } as const
}

test("the database stores only a token's HMAC, first 20 and last four characters", async () => {
  const merchant = await makeMerchant()
  const newToken = {
    accountId: merchant.id,
    mode: 'test' as const,
    name: 'shop',
    permissions: ['account:read' as const],
  }
  const { id, token } = await issueToken(newToken, await ownerOf(merchant.id))
  const rows = await db().$queryRaw<{ row: string; hash: Uint8Array }[]>`
    SELECT to_jsonb(t)::text AS row, hash FROM tokens t WHERE account_id = ${merchant.id}::uuid
    UNION ALL
    SELECT to_jsonb(a)::text, NULL FROM audit_log a WHERE account_id = ${merchant.id}::uuid`
  expect(rows.length).toBeGreaterThanOrEqual(2)
  const storedText = rows.map(row => row.row).join('\n')
  expect(storedText).not.toContain(token)
  expect(storedText).not.toContain(token.slice(0, 21))
  expect(storedText).not.toContain(token.slice(-5))
  // An unkeyed hash could be brute-forced offline with a copy of the table.
  expect(Buffer.from(rows[0]?.hash ?? [])).toHaveLength(32)
  expect(storedText).not.toContain(createHash('sha256').update(token).digest('hex'))
  const row = await db().token.findFirstOrThrow({ where: { accountId: merchant.id, id } })
  expect(row).toMatchObject({
    name: 'shop',
    mode: 'test',
    permissions: ['account:read'],
    prefix: token.slice(0, 20),
    lastFour: token.slice(-4),
    expiresAt: null,
    lastUsedAt: null,
    revokedAt: null,
  })
})

test('the audit record has the issuer, name, mode and permissions', async () => {
  const merchant = await makeMerchant()
  const permissions = ['transactions:read' as const, 'events:read' as const]
  const newToken = { accountId: merchant.id, mode: 'live' as const, name: 'erp', permissions }
  const actor = await ownerOf(merchant.id)
  const { id } = await issueToken(newToken, actor)
  const records = await db().auditRecord.findMany({ where: { target: id } })
  expect(records).toMatchObject([
    {
      action: 'token.issued',
      accountId: merchant.id,
      actorType: 'user',
      actorId: actor.id,
      after: { name: 'erp', mode: 'live', permissions },
    },
  ])
})

const OPERATOR = { type: 'command_line' } as const
const SYSTEM = { type: 'system' } as const
const GRANTED: Permission[] = ['account:read', 'transactions:write']
const DAY_MS = 86_400_000

let accountId: string
let ownerId: string
beforeEach(async () => {
  accountId = (await makeMerchant()).id
  ownerId = await addMember('owner')
})

async function addMember(role: string): Promise<string> {
  const id = newId()
  await db().user.create({ data: { id, email: `${id}@troco.example`, name: 'Ana', ...VERIFIED } })
  await db().membership.create({ data: { accountId, userId: id, role } })
  return id
}

const issueParent = (more: Partial<NewToken> = {}, userId = ownerId) =>
  issueToken(
    { accountId, mode: 'test', name: 'parent', permissions: [...GRANTED, 'tokens:write'], ...more },
    { type: 'user', id: userId },
  )
const issueChild = (parentId: string, more: Partial<NewToken> = {}) =>
  issueToken(
    { accountId, mode: 'test', name: 'child', permissions: GRANTED, ...more },
    { type: 'token', id: parentId },
  )
const readRow = (id: string) =>
  db().token.findUniqueOrThrow({ where: { accountId_id: { accountId, id } } })
const codeOf = (error: unknown) => (isTrocoError(error) ? error.code : String(error))

/** The proof of each token that was accepted before. */
const proofs = new Map<string, Prisma.Sql>()

/** Look-up and proof, which a statement that moves money out contains, must agree. */
async function isAccepted(token: string): Promise<boolean> {
  const caller = await authenticateToken(token)
  const proof = caller ? tokenProof(caller) : proofs.get(token)
  if (!proof) return false
  proofs.set(token, proof)
  const isProven = await db().$queryRaw`SELECT ${proof} AS id`.then(
    () => true,
    error => {
      expect(parseDatabaseError(error).code).toBe('TR401')
      return false
    },
  )
  expect(isProven).toBe(caller !== null)
  return isProven
}

describe('a child', () => {
  test('has the issuers of its parent, works, and names its parent in the audit log', async () => {
    const parent = await issueParent()
    const formerIssuers = [await addMember('owner')]
    await db().token.update({
      where: { accountId_id: { accountId, id: parent.id } },
      data: { formerIssuers },
    })
    const child = await issueChild(parent.id)
    expect(await readRow(child.id)).toMatchObject({
      parentId: parent.id,
      issuedBy: ownerId,
      formerIssuers,
      permissions: GRANTED,
    })
    expect([await isAccepted(child.token), await isAccepted(child.token)]).toEqual([true, true])
    const audited = await db().auditRecord.findMany({ where: { target: child.id } })
    expect(audited).toMatchObject([
      { actorType: 'token', actorId: parent.id, after: { parent_id: parent.id } },
    ])
  })

  test.each<[string, Partial<NewToken>, string]>([
    ['a permission that its parent lacks', { permissions: ['refunds:write'] }, 'permissions'],
    ['tokens:write', { permissions: ['tokens:write'] }, 'permissions'],
    [
      'an address outside those of its parent',
      { allowedAddresses: ['203.0.112.0/23'] },
      'allowed_addresses',
    ],
    ['a later expiry', { expiresAt: new Date(Date.now() + 9 * DAY_MS) }, 'expires_in_days'],
  ])('never has %s', async (_, more, field) => {
    const restricted = {
      allowedAddresses: ['203.0.113.0/24'],
      expiresAt: new Date(Date.now() + 5 * DAY_MS),
    }
    const parent = await issueParent(restricted)
    const error = await issueChild(parent.id, more).catch(reason => reason)
    expect([codeOf(error), Object.keys(error.fields ?? {})]).toEqual(['invalid_input', [field]])
    expect(await db().token.count({ where: { accountId } })).toBe(1)
  })

  test('without restrictions of its own has those of its parent, also those that change later', async () => {
    const end = new Date(Date.now() + 5 * DAY_MS)
    const parent = await issueParent({ allowedAddresses: ['203.0.113.0/24'], expiresAt: end })
    const child = await issueChild(parent.id)
    expect(await readRow(child.id)).toMatchObject({
      allowedAddresses: ['203.0.113.0/24'],
      expiresAt: end,
    })
    const narrow = await issueChild(parent.id, { allowedAddresses: ['203.0.113.8/29'] })
    const caller = await authenticateToken(narrow.token)
    expect(['203.0.113.9', '203.0.113.1'].map(ip => caller?.isAllowedFrom(ip))).toEqual([
      true,
      false,
    ])
    await db().token.update({
      where: { accountId_id: { accountId, id: parent.id } },
      data: { allowedAddresses: ['203.0.113.1'] },
    })
    expect((await authenticateToken(narrow.token))?.isAllowedFrom('203.0.113.9')).toBe(false)
  })

  test('is refused by the database if it could create tokens', async () => {
    const { id } = await issueParent()
    const change = db().$executeRaw`UPDATE tokens SET parent_id = id WHERE id = ${id}::uuid`
    await expect(change).rejects.toThrow(/tokens_child_creates_none/)
  })
})

/** Each ends the parent with SQL: without the operations of this version, which end its children, too. */
const ENDS = {
  'is revoked': 'revoked_at = now()',
  expires: 'expires_at = now()',
}

test.each(Object.entries(ENDS))('a child ends when its parent %s', async (_, change) => {
  const parent = await issueParent()
  const child = await issueChild(parent.id)
  expect(await isAccepted(child.token)).toBe(true)
  await query(env().DATABASE_URL ?? '', `UPDATE tokens SET ${change} WHERE id = '${parent.id}'`)
  expect(await isAccepted(child.token)).toBe(false)
  expect(codeOf(await issueChild(parent.id).catch(reason => reason))).toBe('unauthenticated')
})

test('a parent whose issuer lost a permission creates and rotates no child', async () => {
  const parent = await issueParent()
  const child = await issueChild(parent.id)
  await db().membership.updateMany({ where: { userId: ownerId }, data: { role: 'finance' } })
  expect(codeOf(await issueChild(parent.id).catch(reason => reason))).toBe('token_unconfirmed')
  const rotation = { accountId, mode: 'test', id: child.id, overlapHours: 0 } as const
  const actor = { type: 'token', id: parent.id } as const
  expect(codeOf(await rotateToken(rotation, actor).catch(reason => reason))).toBe(
    'token_unconfirmed',
  )
})

test('the addresses of a child of an unconfirmed parent can be narrowed by an owner, and only narrowed', async () => {
  const parent = await issueParent()
  const child = await issueChild(parent.id)
  await db().membership.updateMany({ where: { userId: ownerId }, data: { role: 'finance' } })
  const actor = { type: 'user', id: await addMember('owner') } as const
  const change = (addresses: string[]) =>
    changeAddresses({ accountId, mode: 'test', id: child.id }, addresses, actor)
  await change(['203.0.113.0/24'])
  await change(['203.0.113.8/29', '203.0.113.1'])
  for (const wider of [[], ['203.0.113.0/24'], ['203.0.113.8/29', '203.0.113.2']])
    expect(codeOf(await change(wider).catch(reason => reason))).toBe('token_unconfirmed')
  expect((await readRow(child.id)).allowedAddresses).toEqual(['203.0.113.8/29', '203.0.113.1'])
})

describe('a member who loses authority', () => {
  test.each(['adopt', 'revoke'] as const)(
    'has parents only to %s: children follow',
    async action => {
      await addMember('owner')
      const parent = await issueParent()
      const child = await issueChild(parent.id)
      const id = await addMember('owner')
      const actor = { type: 'user', id } as const
      const member = { accountId, userId: ownerId }
      const settle = createTokenAdoption(member, [{ id: parent.id, action }], actor)
      await removeMember(member, actor, settle)
      expect(await isAccepted(child.token)).toBe(action === 'adopt')
      if (action === 'adopt') expect(await readRow(child.id)).toMatchObject({ issuedBy: id })
    },
  )

  test('and leaves ends the children, not the parent', async () => {
    await addMember('owner')
    const parent = await issueParent()
    const child = await issueChild(parent.id)
    const actor = { type: 'user', id: ownerId } as const
    await leaveAccount(accountId, actor, tx => revokeChildren(tx, accountId, actor))
    expect([await isAccepted(parent.token), await isAccepted(child.token)]).toEqual([true, false])
  })
})

describe('the end of a parent', () => {
  test('revokes its children with it, once, and no other token', async () => {
    const [parent, other] = [await issueParent(), await issueParent()]
    const [child, foreign] = [await issueChild(parent.id), await issueChild(other.id)]
    await revokeOwnToken({ accountId, mode: 'test', id: parent.id }, 'leaked', OPERATOR)
    expect(await readRow(child.id)).toMatchObject({ revokedReason: 'leaked' })
    expect(await isAccepted(foreign.token)).toBe(true)
    const where = { target: child.id, action: 'token.revoked' }
    expect(await db().auditRecord.findMany({ where })).toMatchObject([
      { after: { parent_id: parent.id } },
    ])
    expect(await revokeAccountTokens(accountId, 'all', SYSTEM)).toBe(2)
  })

  test('by a rotation leaves its children to the replacement, with their own expiry', async () => {
    const parent = await issueParent()
    const child = await issueChild(parent.id)
    const { expiresAt } = await readRow(child.id)
    const rotation = { accountId, mode: 'test', id: parent.id } as const
    const actor = { type: 'user', id: ownerId } as const
    const successor = await rotateToken({ ...rotation, overlapHours: 24 }, actor)
    expect(await readRow(child.id)).toMatchObject({ parentId: successor.id, expiresAt })
    await query(
      env().DATABASE_URL ?? '',
      `UPDATE tokens SET expires_at = now() WHERE id = '${parent.id}'`,
    )
    expect([await isAccepted(parent.token), await isAccepted(child.token)]).toEqual([false, true])
    await revokeOwnToken({ accountId, mode: 'test', id: successor.id }, undefined, OPERATOR)
    expect(await isAccepted(child.token)).toBe(false)
  })

  test('shows what ended a child: a member, its parent over the API, or the end of its parent', async () => {
    const parent = await issueParent()
    const names = ['by a member', 'by its parent', 'with its parent']
    const [first, second, third] = await Promise.all(
      names.map(name => issueChild(parent.id, { name })),
    )
    const where = (id = '') => ({ accountId, mode: 'test' as const, id })
    const owner = { type: 'user', id: ownerId } as const
    await revokeOwnToken(where(first?.id), undefined, owner)
    await revokeOwnToken(where(second?.id), undefined, { type: 'token', id: parent.id })
    const active = await readToken(accountId, 'test', third?.id ?? '')
    expect([active.revoked_by, active.parent?.ended_at]).toEqual([null, null])
    await revokeOwnToken(where(parent.id), undefined, owner)
    const listed = await listTokens(accountId, 'test')
    const { revoked_at: end } = listed.find(one => one.id === parent.id) ?? expect.unreachable()
    const ended = names.map(name => listed.find(one => one.name === name) ?? expect.unreachable())
    expect(ended.map(one => [one.revoked_by, one.parent?.ended_at])).toEqual([
      ['member', end],
      ['token', end],
      ['member', end],
    ])
    expect(ended.map(one => (one.revoked_at ?? '') < (end ?? ''))).toEqual([true, true, false])
  })

  test('leaves no living child that is created at the same moment', async () => {
    for (let round = 0; round < 6; round++) {
      const parent = await issueParent()
      const children = Array.from({ length: 3 }, () => issueChild(parent.id))
      const where = { accountId, mode: 'test', id: parent.id } as const
      const [, ...made] = await Promise.allSettled([
        revokeOwnToken(where, undefined, OPERATOR),
        ...children,
      ])
      for (const one of made) {
        if (one.status === 'rejected') expect(codeOf(one.reason)).toBe('unauthenticated')
        else expect(await isAccepted(one.value.token)).toBe(false)
      }
      expect(
        await db().token.count({ where: { accountId, parentId: parent.id, revokedAt: null } }),
      ).toBe(0)
    }
  })
})

describe('a token that acts', () => {
  test('rotates and revokes its children only; others do not exist for it', async () => {
    const [parent, other] = [await issueParent(), await issueParent()]
    const [child, foreign] = [await issueChild(parent.id), await issueChild(other.id)]
    const actor = { type: 'token', id: parent.id } as const
    const own = { accountId, mode: 'test' } as const
    for (const id of [other.id, foreign.id]) {
      const rotation = rotateToken({ ...own, id, overlapHours: 0 }, actor)
      expect(codeOf(await rotation.catch(reason => reason))).toBe('token_not_found')
      const revocation = revokeOwnToken({ ...own, id }, undefined, actor)
      expect(codeOf(await revocation.catch(reason => reason))).toBe('token_not_found')
    }
    const ownEnd = revokeOwnToken({ ...own, id: parent.id }, undefined, actor)
    expect(codeOf(await ownEnd.catch(reason => reason))).toBe('token_not_found')
    const successor = await rotateToken({ ...own, id: child.id, overlapHours: 0 }, actor)
    expect(await readRow(successor.id)).toMatchObject({ parentId: parent.id, issuedBy: ownerId })
    expect([await isAccepted(child.token), await isAccepted(successor.token)]).toEqual([
      false,
      true,
    ])
    await revokeOwnToken({ ...own, id: successor.id }, undefined, actor)
    expect(await isAccepted(successor.token)).toBe(false)
    expect(await isAccepted(foreign.token)).toBe(true)
  })

  test('rotates itself if it may see itself, and no longer lives than before', async () => {
    const permissions: Permission[] = [...GRANTED, 'tokens:read', 'tokens:write']
    const expiresAt = new Date(Date.now() + 5 * DAY_MS)
    const parent = await issueParent({ permissions, expiresAt })
    const child = await issueChild(parent.id)
    const actor = { type: 'token', id: parent.id } as const
    const rotation = { accountId, mode: 'test', id: parent.id, overlapHours: 0 } as const
    const successor = await rotateToken(rotation, actor)
    expect(await readRow(successor.id)).toMatchObject({
      permissions,
      expiresAt,
      parentId: null,
      issuedBy: ownerId,
    })
    expect((await readRow(child.id)).parentId).toBe(successor.id)
    expect(await isAccepted(parent.token)).toBe(false)
    for (const { token } of [successor, child]) expect(await isAccepted(token)).toBe(true)
    const again = rotateToken(rotation, actor)
    expect(codeOf(await again.catch(reason => reason))).toBe('token_ended')
    const blind = await issueParent()
    const own = rotateToken({ ...rotation, id: blind.id }, { type: 'token', id: blind.id })
    expect(codeOf(await own.catch(reason => reason))).toBe('token_not_found')
  })

  test('is confirmed with its children, which no member rotates or confirms alone', async () => {
    const parent = await issueParent()
    const child = await issueChild(parent.id)
    const id = await addMember('owner')
    const actor = { type: 'user', id } as const
    const own = { accountId, mode: 'test', id: child.id } as const
    expect(codeOf(await adoptToken(own, actor).catch(reason => reason))).toBe('child_token')
    const rotation = rotateToken({ ...own, overlapHours: 0 }, actor)
    expect(codeOf(await rotation.catch(reason => reason))).toBe('child_token')
    await adoptToken({ ...own, id: parent.id }, actor)
    expect(await readRow(child.id)).toMatchObject({ issuedBy: id, formerIssuers: [ownerId] })
    expect(await isAccepted(child.token)).toBe(true)
  })
})

describe('many tokens that have ended', () => {
  /** Children as rotations without an overlap leave them: expired, and not revoked. */
  const addEnded = (parentId: string, count: number) => db().$executeRaw`
    INSERT INTO tokens (account_id, id, mode, name, hash, prefix, last_four, permissions, parent_id, expires_at)
    SELECT ${accountId}::uuid, gen_random_uuid(), 'test', 'ended', sha256(${parentId}::text::bytea || n::text::bytea),
      'troco_test_0000000000', '0000', '{account:read}', ${parentId}::uuid, now() - interval '1 day'
    FROM generate_series(1, ${count}::int) n`

  test('do not keep their parent from being revoked, and keep their end', async () => {
    const parent = await issueParent()
    const child = await issueChild(parent.id)
    await addEnded(parent.id, 5_000)
    const owner = { type: 'user', id: ownerId } as const
    expect(
      await revokeOwnToken({ accountId, mode: 'test', id: parent.id }, 'stolen', owner),
    ).toEqual({
      id: parent.id,
    })
    for (const { token } of [parent, child]) expect(await isAccepted(token)).toBe(false)
    expect(await db().token.count({ where: { accountId, revokedAt: { not: null } } })).toBe(2)
    expect(await db().auditRecord.count({ where: { accountId, action: 'token.revoked' } })).toBe(2)
  })

  test('keep their end when their parent is rotated', async () => {
    const parent = await issueParent()
    await addEnded(parent.id, 10)
    const before = await db().token.findMany({ where: { parentId: parent.id } })
    await rotateToken(
      { accountId, mode: 'test', id: parent.id, overlapHours: 0 },
      { type: 'user', id: ownerId },
    )
    expect(await db().token.findMany({ where: { parentId: parent.id } })).toEqual(before)
  })

  testInTorture('rotations leave at most 200 tokens that work', async () => {
    const parent = await issueParent()
    let { id } = await issueChild(parent.id)
    const rotate = async () => {
      const rotation = { accountId, mode: 'test' as const, id, overlapHours: 168 }
      id = (await rotateToken(rotation, { type: 'token', id: parent.id })).id
    }
    for (let count = 2; count < 200; count++) await rotate()
    await expect(rotate()).rejects.toMatchObject({
      code: 'limit_reached',
      message:
        'The limit of 200 working tokens, replaced ones included, is reached: revoke one first',
    })
    await revokeOwnToken({ accountId, mode: 'test', id }, undefined, {
      type: 'user',
      id: ownerId,
    })
    await issueChild(parent.id)
  })
})
