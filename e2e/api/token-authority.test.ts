import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { db } from '#lib/base/db/client.ts'
import { readSession } from '#lib/edge/session/read.ts'
import type { Account, Role } from '#lib/rooms/accounts/schema.ts'
import { issueToken } from '#lib/rooms/tokens/issue.ts'
import { PERMISSIONS, type Permission } from '#lib/rooms/tokens/schema.ts'
import { TokenRead } from '#lib/rooms/tokens/wire.ts'
import { hasPermission } from '#lib/services/people/roles.ts'
import { call } from '#lib/testing/call.ts'
import { type Api, makeMerchant, startApi } from '#lib/testing/fixtures.ts'
import { expectShape, pageHeaders, refusal, signIn } from '#lib/testing/member.ts'

const ROOT = '/dashboard/tokens'
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
const adopt = (by: Person, id: string) => callApi(by, 'POST', `${ROOT}/${id}/adopt`, {})
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
  const error = `Your role may not grant ${permission}: ${advice}`
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

  test('a developer gets no token that moves money, also among other permissions', async () => {
    const response = await issue(developer, PERMISSIONS)
    expect(refusal(response)).toEqual(notHeld('refunds:write, withdrawals:write', LEAVE_OUT))
    expect(response.headers.get('x-required-permission')).toBe('refunds:write, withdrawals:write')
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
