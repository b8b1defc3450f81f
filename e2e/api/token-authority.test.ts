import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Account, Role } from '#lib/accounts/schema.ts'
import { db } from '#lib/db/client.ts'
import { hasPermission } from '#lib/people/roles.ts'
import { readSession } from '#lib/session/read.ts'
import { call } from '#lib/testing/call.ts'
import { type Api, makeMerchant, startApi } from '#lib/testing/fixtures.ts'
import { expectShape, pageHeaders, refusal, signIn } from '#lib/testing/member.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { IssuedTokenList, PERMISSIONS, type Permission, TokenRead } from '#lib/tokens/schema.ts'

const ROOT = '/tokens'
const OPERATOR = { type: 'command_line' } as const
const HARMLESS: Permission[] = ['account:read', 'transactions:write']

interface Person {
  id: string
  secret: string
}

let api: Api
let merchant: Account
let owner: Person
let developer: Person
beforeAll(async () => {
  api = await startApi()
})
beforeEach(async () => {
  merchant = await makeMerchant()
  owner = await signInMember('owner')
  developer = await signInMember('developer')
})
afterAll(() => api.close())

async function signInMember(role: Role): Promise<Person> {
  const secret = await signIn(merchant, role)
  return { id: (await readSession(secret))?.id ?? '', secret }
}

const callApi = (by: Person, method: string, path: string, body?: object) =>
  call(api.url, method, path, { headers: pageHeaders(by.secret, merchant.id), body })
const issue = (by: Person, permissions: readonly Permission[]) =>
  callApi(by, 'POST', ROOT, { name: 'x', permissions })
const rotate = (by: Person, id: string) =>
  callApi(by, 'POST', `${ROOT}/${id}/rotate`, { overlap_hours: 24 })
const adopt = (by: Person, id: string) => callApi(by, 'POST', `/dashboard${ROOT}/${id}/adopt`, {})
const countTokens = () => db().token.count({ where: { accountId: merchant.id } })
const issuerOf = async (id: string) =>
  (await db().token.findFirstOrThrow({ where: { accountId: merchant.id, id } })).issuedBy

async function readListed(by: Person, id: string) {
  const { body } = await callApi(by, 'GET', ROOT)
  return body.data.find((one: { id: string }) => one.id === id)
}

/** Issues a token as the operator does on the command line. */
async function issueAsOperator(permissions: readonly Permission[]): Promise<string> {
  const { id: accountId } = merchant
  const request = { accountId, mode: 'test' as const, name: 'ops', permissions: [...permissions] }
  return (await issueToken(request, OPERATOR)).id
}

/** Changes a role without the dashboard, as rows of an earlier version may have been left. */
async function setRole({ id: userId }: Person, role: Role): Promise<void> {
  await db().membership.updateMany({ where: { accountId: merchant.id, userId }, data: { role } })
}

function notHeld(permission: string, advice: string): unknown[] {
  const error = `You may not grant permissions that you do not hold (${permission}): ${advice}`
  return [403, JSON.stringify({ error }), 'permission_not_held']
}
const LEAVE_OUT = 'leave it out of permissions or ask an owner to create this token'
const ASK = 'ask an owner to rotate this token'
const UNCONFIRMED = [
  409,
  '{"error":"The member who issued this token no longer holds all of its permissions: an owner must confirm it first"}',
  'token_unconfirmed',
]

describe('issuing', () => {
  test.each(PERMISSIONS)('a developer issues %s exactly if the role holds it', async permission => {
    const response = await issue(developer, [permission])
    if (hasPermission('developer', permission)) expect(response.status).toBe(200)
    else expect(refusal(response)).toEqual(notHeld(permission, LEAVE_OUT))
    expect(await countTokens()).toBe(hasPermission('developer', permission) ? 1 : 0)
  })

  test('a developer gets no token beyond the role, also among other permissions', async () => {
    const response = await issue(developer, PERMISSIONS)
    expect(refusal(response)).toEqual(
      notHeld('refunds:write, withdrawals:write, payers:read', LEAVE_OUT),
    )
    expect(response.headers.get('x-required-permission')).toBe(
      'refunds:write, withdrawals:write, payers:read',
    )
    expect(await countTokens()).toBe(0)
  })

  test('stores the issuer and shows the name; a token of the operator has none', async () => {
    const { id } = (await issue(owner, PERMISSIONS)).body.data
    expect(await issuerOf(id)).toBe(owner.id)
    const name = expect.stringMatching(/^member-/)
    expect(await readListed(owner, id)).toMatchObject({ issuer: name, exceeds_issuer: false })
    const other = await issueAsOperator(PERMISSIONS)
    expect(await issuerOf(other)).toBeNull()
    expect(await readListed(owner, other)).toMatchObject({ issuer: null, exceeds_issuer: false })
  })
})

describe('rotating', () => {
  test('a developer rotates no token that moves money, whoever issued it', async () => {
    const { id: ownersId } = (await issue(owner, ['account:read', 'withdrawals:write'])).body.data
    const refused = notHeld('withdrawals:write', ASK)
    expect(refusal(await rotate(developer, ownersId))).toEqual(refused)
    const operatorsId = await issueAsOperator(['withdrawals:write'])
    expect(refusal(await rotate(developer, operatorsId))).toEqual(refused)
    expect(await countTokens()).toBe(2)
    expect((await rotate(owner, ownersId)).status).toBe(200)
  })

  test('within the role it works, and the successor is issued by who rotates', async () => {
    const { id } = (await issue(owner, HARMLESS)).body.data
    const { body } = await rotate(developer, id)
    expect(body.data.permissions).toEqual(HARMLESS)
    expect([await issuerOf(id), await issuerOf(body.data.id)]).toEqual([owner.id, developer.id])
  })
})

describe('a token above the present role of its issuer', () => {
  let id: string
  let token: string
  beforeEach(async () => {
    const issued = await issue(developer, HARMLESS)
    ;({ id, token } = issued.body.data)
    await setRole(developer, 'viewer')
  })

  test('works, is marked in the list, and is not rotated by another developer', async () => {
    expect((await call(api.url, 'GET', '/account', { token })).status).toBe(200)
    expect(await readListed(owner, id)).toMatchObject({ exceeds_issuer: true })
    const other = await signInMember('developer')
    expect(refusal(await rotate(other, id))).toEqual(UNCONFIRMED)
    await db().membership.deleteMany({ where: { userId: developer.id } })
    expect(await readListed(owner, id)).toMatchObject({ exceeds_issuer: true })
    expect(refusal(await rotate(other, id))).toEqual(UNCONFIRMED)
    expect(await countTokens()).toBe(1)
  })

  test('is confirmed by an owner, who becomes its issuer; then a developer may rotate it', async () => {
    const other = await signInMember('developer')
    const denied = await adopt(other, id)
    expect([denied.status, denied.headers.get('x-required-permission')]).toEqual([
      403,
      'tokens:adopt',
    ])
    const { status, body } = await adopt(owner, id)
    expectShape(TokenRead, body)
    expect([status, body.data.exceeds_issuer, await issuerOf(id)]).toEqual([200, false, owner.id])
    expect((await adopt(owner, id)).status).toBe(200)
    const where = { target: id, action: 'token.adopted' }
    expect(await db().auditRecord.findMany({ where })).toMatchObject([
      {
        actorId: owner.id,
        before: { issued_by: developer.id },
        after: { issued_by: owner.id, permissions: HARMLESS },
      },
    ])
    expect((await rotate(other, id)).status).toBe(200)
  })

  test('is confirmed by an owner who rotates it', async () => {
    const { body } = await rotate(owner, id)
    expect([await issuerOf(id), await issuerOf(body.data.id)]).toEqual([owner.id, owner.id])
    expect(await readListed(owner, id)).toMatchObject({ status: 'replaced', exceeds_issuer: false })
    expect(await db().auditRecord.count({ where: { target: id, action: 'token.adopted' } })).toBe(1)
  })

  test('cannot be adopted after it is revoked', async () => {
    await callApi(owner, 'POST', `${ROOT}/${id}/revoke`, {})
    expect(await readListed(owner, id)).toMatchObject({ exceeds_issuer: false })
    expect(refusal(await adopt(owner, id))[2]).toBe('token_ended')
    expect(await issuerOf(id)).toBe(developer.id)
  })
})

describe('a member who loses authority', () => {
  const changeRole = (whom: Person, role: Role, tokens?: object, by = owner) =>
    callApi(by, 'PATCH', `/dashboard/members/${whom.id}`, { role, tokens })
  const remove = (whom: Person, tokens?: object, by = owner) =>
    callApi(by, 'DELETE', `/dashboard/members/${whom.id}`, tokens && { tokens })
  const issueOne = async (by: Person, permissions = HARMLESS) =>
    (await issue(by, permissions)).body.data
  const roleOf = async ({ id: userId }: Person) =>
    (await db().membership.findFirst({ where: { accountId: merchant.id, userId } }))?.role
  const undecided = (...ids: string[]) => {
    const rule =
      'tokens must decide to adopt or revoke exactly the tokens that this member may no longer grant'
    return [409, JSON.stringify({ error: `${rule}: ${ids.join(', ')}` }), 'tokens_undecided']
  }
  const isAccepted = async (token: string) =>
    (await call(api.url, 'GET', '/account', { token })).status === 200

  test('is shown with the active tokens of both modes', async () => {
    const { id } = await issueOne(developer)
    const ended = await issueOne(developer)
    await callApi(owner, 'POST', `${ROOT}/${ended.id}/revoke`, {})
    await issueOne(owner)
    const actor = { type: 'user', id: developer.id } as const
    const live = { accountId: merchant.id, mode: 'live' as const, name: 'l', permissions: HARMLESS }
    const { id: liveId } = await issueToken(live, actor)
    const path = `/dashboard/members/${developer.id}/tokens`
    const { status, body, text } = await callApi(owner, 'GET', path)
    expect(status).toBe(200)
    expectShape(IssuedTokenList, body)
    expect(body.data).toMatchObject([
      { id: liveId, mode: 'live' },
      { id, mode: 'test', permissions: HARMLESS },
    ])
    expect(text).not.toContain('hash')
    const stranger = { id: '', secret: await signIn(await makeMerchant(), 'owner') }
    expect((await callApi(stranger, 'GET', path)).status).toBe(401)
    const unknown = await callApi(owner, 'GET', `/dashboard/members/${merchant.id}/tokens`)
    expect(refusal(unknown)[2]).toBe('member_not_found')
  })

  test('is not removed before every token is decided; then each is adopted or revoked', async () => {
    const [kept, dropped] = [await issueOne(developer), await issueOne(developer)]
    const both = undecided(kept.id, dropped.id)
    const adoption = { id: kept.id, action: 'adopt' }
    const foreign = await issueOne(owner)
    const decidedTwice = [adoption, ...[kept, dropped].map(({ id }) => ({ id, action: 'revoke' }))]
    const withForeign = [adoption, { ...adoption, id: foreign.id }]
    for (const tokens of [undefined, [], [adoption], withForeign, decidedTwice])
      expect(refusal(await remove(developer, tokens))).toEqual(both)
    const invalid = await remove(developer, [{ id: kept.id, action: 'keep' }])
    expect([invalid.status, invalid.body]).toEqual([
      422,
      { errors: { tokens: ['tokens[0].action must be adopt or revoke'] } },
    ])
    expect([await roleOf(developer), await issuerOf(kept.id)]).toEqual(['developer', developer.id])
    const { status } = await remove(developer, [adoption, { id: dropped.id, action: 'revoke' }])
    expect([status, await roleOf(developer)]).toEqual([200, undefined])
    expect([await isAccepted(kept.token), await isAccepted(dropped.token)]).toEqual([true, false])
    expect(await issuerOf(kept.id)).toBe(owner.id)
    expect(await readListed(owner, kept.id)).toMatchObject({ exceeds_issuer: false })
    const where = { accountId: merchant.id, target: { in: [kept.id, dropped.id] } }
    const records = await db().auditRecord.findMany({ where, orderBy: { id: 'asc' } })
    expect(records.slice(2)).toMatchObject([
      { action: 'token.adopted', target: kept.id, actorId: owner.id },
      { action: 'token.revoked', target: dropped.id, actorId: owner.id },
    ])
  })

  test('keeps the tokens that the new role may grant, and the others are decided', async () => {
    const other = await signInMember('owner')
    const harmless = await issueOne(other, ['account:read'])
    const paying = await issueOne(other, ['withdrawals:write'])
    expect(refusal(await changeRole(other, 'developer'))).toEqual(undecided(paying.id))
    expect((await changeRole(other, 'finance')).status).toBe(200)
    await setRole(other, 'owner')
    const tokens = [{ id: paying.id, action: 'adopt' }]
    expect((await changeRole(other, 'developer', tokens)).status).toBe(200)
    expect([await issuerOf(harmless.id), await issuerOf(paying.id)]).toEqual([other.id, owner.id])
  })

  test('cannot adopt the tokens that the own new role may not grant, only revoke them', async () => {
    const other = await signInMember('owner')
    const { id, token } = await issueOne(other, ['withdrawals:write', 'account:read'])
    const decide = (action: string) => changeRole(other, 'developer', [{ id, action }], other)
    expect(refusal(await decide('adopt'))).toEqual(
      notHeld('withdrawals:write', 'revoke this token instead'),
    )
    expect([await roleOf(other), await isAccepted(token)]).toEqual(['owner', true])
    expect((await decide('revoke')).status).toBe(200)
    expect([await roleOf(other), await isAccepted(token)]).toEqual(['developer', false])
  })

  test('who leaves changes no token: it stays on the list until an owner confirms it', async () => {
    const { id, token } = await issueOne(developer)
    expect((await callApi(developer, 'POST', '/dashboard/members/leave', {})).status).toBe(200)
    expect(await isAccepted(token)).toBe(true)
    expect(await readListed(owner, id)).toMatchObject({ exceeds_issuer: true })
  })

  test('in the same moment issues nothing that nobody decided about', async () => {
    for (let round = 0; round < 8; round++) {
      const member = await signInMember('developer')
      await Promise.all([issue(member, HARMLESS), changeRole(member, 'viewer')])
      const where = { issuedBy: member.id, revokedAt: null }
      const count = await db().token.count({ where })
      expect([await roleOf(member), count]).toEqual(count === 0 ? ['viewer', 0] : ['developer', 1])
    }
  })
})
