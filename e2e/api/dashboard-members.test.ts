import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { INVITATIONS_MAX, InvitationCreated, MemberList, ROLES } from '#lib/accounts/schema.ts'
import { suspendAccount } from '#lib/accounts/settings.ts'
import { newId } from '#lib/core/ids.ts'
import { hashSecret, unseal } from '#lib/core/keys.ts'
import { supplyEnv } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { openSession } from '#lib/people/sessions.ts'
import { readSession } from '#lib/session/read.ts'
import { call } from '#lib/testing/call.ts'
import { type Api, makeMerchant, startApi } from '#lib/testing/fixtures.ts'
import { expectShape, pageHeaders, personHeaders, refusal, signIn } from '#lib/testing/member.ts'
import { testInTorture } from '#lib/testing/torture.ts'

interface Person {
  id: string
  email: string
  secret: string
}

let api: Api
let merchant: Awaited<ReturnType<typeof makeMerchant>>
let owner: Person
beforeAll(async () => {
  api = await startApi()
})
beforeEach(async () => {
  merchant = await makeMerchant('Loja dos Membros')
  const { userId } = await db().membership.findFirstOrThrow({ where: { accountId: merchant.id } })
  owner = await readPerson(await openSession(userId, { ip: null, userAgent: null }))
})
afterAll(() => api.close())

async function readPerson(secret: string): Promise<Person> {
  const { id, email } = (await readSession(secret)) ?? { id: '', email: '' }
  return { id, email, secret }
}
const signInMember = async (role: (typeof ROLES)[number]) =>
  readPerson(await signIn(merchant, role))

const callApi = (
  method: string,
  path: string,
  caller: Person,
  body?: object,
  mode = 'test',
  key?: string,
) =>
  call(api.url, method, `/dashboard/${path}`, {
    headers: pageHeaders(caller.secret, merchant.id, mode),
    body,
    ...(key === undefined ? {} : { key }),
  })
const invite = (email: string, role = 'developer', caller = owner) =>
  callApi('POST', 'invitations', caller, { email, role })
const join = (secret: string, caller: Person) =>
  call(api.url, 'POST', '/person/join', { headers: personHeaders(caller.secret), body: { secret } })

const makeEmail = () => `invited-${newId()}@troco.example`
const secretOf = (link: string) => link.split('/').at(-1) ?? ''
const roleOf = async (userId: string) =>
  (await db().membership.findFirst({ where: { accountId: merchant.id, userId } }))?.role
const countOwners = () =>
  db().membership.count({ where: { accountId: merchant.id, role: 'owner' } })

/** Signs in an owner of another account. */
async function signInStranger(): Promise<Person> {
  return readPerson(await signIn(await makeMerchant(), 'owner'))
}

async function listAuditRecords(action: string) {
  return db().auditRecord.findMany({ where: { accountId: merchant.id, action } })
}

async function readMailsTo(email: string): Promise<string[]> {
  const rows = await db().mail.findMany({ orderBy: { createdAt: 'desc' }, take: 200 })
  const sealedRows = rows.filter(({ sealed }) => sealed.length > 0)
  const mails = sealedRows.map(({ id, sealed }) => JSON.parse(unseal(sealed, id, 'mails')))
  return mails.filter(({ to }) => to === email).map(({ text }) => text)
}

describe('the list', () => {
  test.each(ROLES)(
    'shows a %s the members, their roles, last use and second factors',
    async role => {
      const reader = await signInMember(role)
      await db().passkey.create({
        data: {
          id: newId(),
          userId: reader.id,
          credentialId: newId(),
          name: 'key',
          counter: 0,
          publicKey: new Uint8Array(1),
        },
      })
      const { status, body } = await callApi('GET', 'members', reader)
      expect(status).toBe(200)
      expectShape(MemberList, body)
      expect(body.data.members).toMatchObject([
        { user_id: owner.id, role: 'owner', has_second_factor: false },
        { user_id: reader.id, email: reader.email, role, has_second_factor: true },
      ])
      expect(body.data.members[1].last_used_at).not.toBeNull()
    },
  )
})

describe('an invitation', () => {
  test('is mailed to one address at most 5 times an hour, whatever the accounts', async () => {
    const email = makeEmail()
    const stranger = await signInStranger()
    const { accountId } = await db().membership.findFirstOrThrow({ where: { userId: stranger.id } })
    const ofStranger = { headers: pageHeaders(stranger.secret, accountId, 'test') }
    for (let round = 0; round < 4; round++) {
      const body = { email, role: 'viewer' }
      const own = await invite(email)
      const other = await call(api.url, 'POST', '/dashboard/invitations', { ...ofStranger, body })
      for (const { status, body } of [own, other]) {
        expect(status).toBe(200)
        expect(body.data.link).toContain('/join/')
      }
    }
    expect(await readMailsTo(email)).toHaveLength(5)
  })

  test('has the name of the account in quotes', async () => {
    const email = makeEmail()
    await invite(email)
    expect((await readMailsTo(email)).join()).toContain('“Loja dos Membros”')
  })

  test('is shown once, mailed, stored as a hash and audited without the e-mail', async () => {
    const email = makeEmail()
    const { status, body } = await invite(email)
    expect(status).toBe(200)
    expectShape(InvitationCreated, body)
    const secret = secretOf(body.data.link)
    const [row] = await db().invitation.findMany({ where: { hash: hashSecret(secret) } })
    expect(row).toMatchObject({ accountId: merchant.id, email, role: 'developer' })
    expect(
      JSON.stringify(
        await db().$queryRaw`SELECT i::text FROM invitations i
      WHERE id = ${body.data.id}::uuid`,
      ),
    ).not.toContain(secret)
    const mailed = (await readMailsTo(email)).join()
    expect(mailed).toMatch(/\/join\/[\w-]{43}/)
    expect(mailed).not.toContain(secret)
    const [record] = await listAuditRecords('member.invited')
    expect(record).toMatchObject({ target: body.data.id, after: { role: 'developer' } })
    expect(JSON.stringify(record)).not.toContain(email)
    const list = await callApi('GET', 'members', owner)
    expect(list.body.data.invitations).toMatchObject([{ email, role: 'developer' }])
    expect(list.text).not.toContain(secret)
  })

  test('repeated under its idempotency key returns no link; a new invitation replaces the first', async () => {
    const body = { email: makeEmail(), role: 'viewer' }
    const key = newId()
    const first = await callApi('POST', 'invitations', owner, body, 'test', key)
    const again = await callApi('POST', 'invitations', owner, body, 'test', key)
    expect(again.body.data).toEqual({ id: first.body.data.id, link: null, is_mailed: false })
    expect(await db().invitation.count({ where: { accountId: merchant.id } })).toBe(1)
    const [newer] = [await invite(` ${body.email.toUpperCase()} `)]
    const invited = await readPerson(await signIn(await makeMerchant(), 'viewer'))
    await db().user.update({ where: { id: invited.id }, data: { email: body.email } })
    const old = await join(secretOf(first.body.data.link), invited)
    expect(refusal(old).slice(0, 3)).toMatchObject([409, expect.any(String), 'invitation_ended'])
    expect((await join(secretOf(newer.body.data.link), invited)).body.data).toEqual({
      account_id: merchant.id,
      role: 'developer',
    })
  })

  test('is called mailed only if there is a mail server to take it', async () => {
    const invitation = { email: makeEmail(), role: 'viewer' }
    const isMailed = async () =>
      (await callApi('POST', 'invitations', owner, invitation)).body.data.is_mailed
    expect(await isMailed()).toBe(false)
    supplyEnv({ SMTP_URL: 'smtps://mail.example' })
    try {
      expect(await isMailed()).toBe(true)
    } finally {
      supplyEnv({ SMTP_URL: '' })
    }
  })

  test('is refused for a member, for an invalid or look-alike e-mail and above the limit', async () => {
    const member = await signInMember('viewer')
    expect(refusal(await invite(member.email))).toEqual([
      409,
      '{"error":"This user is already a member"}',
      'member_already',
    ])
    for (const email of ['аna@example.com', 'ana@exаmple.com', 'ana', 'ana@', '']) {
      const { status, body } = await invite(email)
      expect([status, Object.keys(body.errors)]).toEqual([422, ['email']])
    }
    expect((await invite(makeEmail(), 'admin')).status).toBe(422)
    const expiresAt = new Date(Date.now() + 1_000_000)
    const role = 'viewer'
    await db().invitation.createMany({
      data: Array.from({ length: INVITATIONS_MAX - 1 }, () => {
        const [id, email, hash] = [newId(), makeEmail(), hashSecret(newId())]
        return { id, email, hash, role, expiresAt, accountId: merchant.id }
      }),
    })
    const responses = await Promise.all(
      [makeEmail(), makeEmail(), makeEmail()].map(email => invite(email)),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 409, 409])
    const { email } = await db().invitation.findFirstOrThrow({ where: { accountId: merchant.id } })
    expect((await invite(email)).status).toBe(200)
  })

  test('is accepted once under concurrency, and only by the invited person', async () => {
    const invited = await signInStranger()
    const secret = secretOf((await invite(invited.email)).body.data.link)
    const other = await join(secret, await signInStranger())
    expect([other.status, other.headers.get('x-error-code')]).toEqual([403, 'other_person'])
    const responses = await Promise.all(Array.from({ length: 5 }, () => join(secret, invited)))
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409])
    expect(await roleOf(invited.id)).toBe('developer')
    expect(await listAuditRecords('member.joined')).toMatchObject([
      { actorId: invited.id, target: invited.id, after: { role: 'developer' } },
    ])
    expect((await callApi('GET', 'members', invited)).status).toBe(200)
  })

  testInTorture(
    'that is renewed while its recipient joins leaves no open invitation behind',
    async () => {
      for (let round = 0; round < 10; round++) {
        const invited = await signInStranger()
        const secret = secretOf((await invite(invited.email)).body.data.link)
        await Promise.all([join(secret, invited), invite(invited.email, 'owner')])
        const where = {
          accountId: merchant.id,
          email: invited.email,
          acceptedAt: null,
          revokedAt: null,
        }
        const isMember = (await roleOf(invited.id)) !== undefined
        expect(await db().invitation.count({ where })).toBe(isMember ? 0 : 1)
      }
    },
  )

  test('is refused after it is revoked or expires, and while the account is suspended', async () => {
    const invited = await signInStranger()
    const joinError = async (secret: string) => {
      const { status, headers } = await join(secret, invited)
      return [status, headers.get('x-error-code')]
    }
    const first = (await invite(invited.email)).body.data
    expect((await callApi('DELETE', `invitations/${first.id}`, owner)).status).toBe(200)
    expect((await callApi('DELETE', `invitations/${first.id}`, owner)).status).toBe(404)
    expect(await joinError(secretOf(first.link))).toEqual([409, 'invitation_ended'])
    const second = (await invite(invited.email)).body.data
    await db().invitation.update({ where: { id: second.id }, data: { expiresAt: new Date() } })
    expect(await joinError(secretOf(second.link))).toEqual([409, 'invitation_ended'])
    const third = (await invite(invited.email)).body.data
    await suspendAccount(merchant.id, 'test', { type: 'system' })
    expect(await joinError(secretOf(third.link))).toEqual([403, 'account_not_active'])
    expect(await joinError('x'.repeat(43))).toEqual([409, 'invitation_ended'])
    expect(await roleOf(invited.id)).toBeUndefined()
  })

  test('that was accepted cannot be revoked', async () => {
    const invited = await signInStranger()
    const { id, link } = (await invite(invited.email)).body.data
    await join(secretOf(link), invited)
    const response = await callApi('DELETE', `invitations/${id}`, owner)
    expect(refusal(response).slice(0, 3)).toMatchObject([
      404,
      expect.any(String),
      'invitation_not_found',
    ])
    expect(await db().invitation.findUniqueOrThrow({ where: { id } })).toMatchObject({
      acceptedAt: expect.any(Date),
      revokedAt: null,
    })
    expect(await listAuditRecords('invitation.revoked')).toEqual([])
  })

  test('of one account opens no other account and cannot be changed from there', async () => {
    const invited = await signInStranger()
    const { id, link } = (await invite(invited.email, 'owner')).body.data
    const ownMerchant = merchant
    const otherMerchant = await makeMerchant()
    const stranger = await readPerson(await signIn(otherMerchant, 'owner'))
    merchant = otherMerchant
    expect((await callApi('DELETE', `invitations/${id}`, stranger)).status).toBe(404)
    expect((await callApi('DELETE', `members/${owner.id}`, stranger)).status).toBe(404)
    expect(
      (await callApi('PATCH', `members/${owner.id}`, stranger, { role: 'viewer' })).status,
    ).toBe(404)
    await join(secretOf(link), invited)
    expect(await roleOf(invited.id)).toBeUndefined()
    merchant = ownMerchant
    expect(await roleOf(invited.id)).toBe('owner')
  })
})

describe('a change of role', () => {
  test('ends all sessions of the member and is mailed and audited', async () => {
    const ana = await signInMember('developer')
    const otherSecret = await openSession(ana.id, { ip: null, userAgent: null })
    expect((await callApi('PATCH', `members/${ana.id}`, owner, { role: 'developer' })).status).toBe(
      200,
    )
    expect(await readSession(ana.secret)).not.toBeNull()
    expect((await callApi('PATCH', `members/${ana.id}`, owner, { role: 'viewer' })).status).toBe(
      200,
    )
    expect((await callApi('GET', 'members', ana)).status).toBe(401)
    expect(await readSession(otherSecret)).toBeNull()
    expect(await roleOf(ana.id)).toBe('viewer')
    expect(await listAuditRecords('member.role_changed')).toMatchObject([
      { target: ana.id, before: { role: 'developer' }, after: { role: 'viewer' } },
    ])
    expect((await readMailsTo(ana.email)).join()).toContain('leitor')
  })

  test('revokes the invitations that a former owner sent', async () => {
    const second = await signInMember('owner')
    const invited = await signInStranger()
    const { link } = (await invite(invited.email, 'owner', second)).body.data
    await callApi('PATCH', `members/${second.id}`, owner, { role: 'viewer' })
    expect((await join(secretOf(link), invited)).status).toBe(409)
  })
})

describe('leaving and removal', () => {
  test('end access at once; a removed member is also signed out and mailed', async () => {
    const [removed, leaver] = [await signInMember('finance'), await signInMember('viewer')]
    expect((await callApi('DELETE', `members/${removed.id}`, owner)).status).toBe(200)
    expect(await readSession(removed.secret)).toBeNull()
    expect((await callApi('POST', 'members/leave', leaver)).status).toBe(200)
    expect((await readSession(leaver.secret))?.accounts).toEqual([])
    for (const person of [removed, leaver]) {
      expect((await callApi('GET', 'members', person)).status).toBe(401)
      expect(await roleOf(person.id)).toBeUndefined()
    }
    expect(await listAuditRecords('member.removed')).toMatchObject([{ target: removed.id }])
    expect(await listAuditRecords('member.left')).toMatchObject([
      { target: leaver.id, actorId: leaver.id },
    ])
    expect((await readMailsTo(removed.email)).join()).toContain('Loja dos Membros')
    expect(await readMailsTo(leaver.email)).toEqual([])
    expect((await callApi('DELETE', `members/${removed.id}`, owner)).status).toBe(404)
    expect((await callApi('DELETE', 'members/nobody', owner)).status).toBe(404)
  })

  test.each(['removed', 'left'])('end the open invitations of an owner who was %s', async how => {
    const second = await signInMember('owner')
    const [early, late] = [await signInStranger(), await signInStranger()]
    const secretFor = async ({ email }: Person) =>
      secretOf((await invite(email, 'owner', second)).body.data.link)
    await join(await secretFor(early), early)
    const secret = await secretFor(late)
    const ended =
      how === 'removed'
        ? await callApi('DELETE', `members/${second.id}`, owner)
        : await callApi('POST', 'members/leave', second)
    expect(ended.status).toBe(200)
    const response = await join(secret, late)
    expect(refusal(response).slice(0, 3)).toMatchObject([
      409,
      expect.any(String),
      'invitation_ended',
    ])
    expect(await roleOf(late.id)).toBeUndefined()
    expect(await roleOf(early.id)).toBe('owner')
  })

  test('are refused for the last owner, and so is a change of role', async () => {
    await signInMember('finance')
    const disabled = await signInMember('owner')
    await db().user.update({ where: { id: disabled.id }, data: { disabledAt: new Date() } })
    for (const response of [
      await callApi('POST', 'members/leave', owner),
      await callApi('DELETE', `members/${owner.id}`, owner),
      await callApi('PATCH', `members/${owner.id}`, owner, { role: 'viewer' }),
    ]) {
      expect(refusal(response)).toEqual([
        409,
        '{"error":"An account must have an owner: make another member an owner first"}',
        'last_owner',
      ])
    }
    expect(await readSession(owner.secret)).not.toBeNull()
  })

  test('exactly one of two owners who leave at once stays', async () => {
    for (let round = 0; round < 5; round++) {
      const other = await signInMember('owner')
      const both = [owner, other]
      const responses = await Promise.all(
        both.map(person => callApi('POST', 'members/leave', person)),
      )
      expect(responses.map(({ status }) => status).sort()).toEqual([200, 409])
      expect(await countOwners()).toBe(1)
      owner = both[responses.findIndex(({ status }) => status === 409)] as Person
    }
  })

  test('exactly one of ten owners who give up their role at once stays owner', async () => {
    const owners = [
      owner,
      ...(await Promise.all(Array.from({ length: 9 }, () => signInMember('owner')))),
    ]
    const demote = (caller: Person, target: Person) =>
      callApi('PATCH', `members/${target.id}`, caller, { role: 'viewer' })
    const responses = await Promise.all(owners.map(person => demote(person, person)))
    expect(responses.map(({ status }) => status).sort()).toEqual([...Array(9).fill(200), 409])
    expect(await countOwners()).toBe(1)
  })

  test('ten owners who demote each other at once leave at least one owner', async () => {
    const owners = [
      owner,
      ...(await Promise.all(Array.from({ length: 9 }, () => signInMember('owner')))),
    ]
    const responses = await Promise.all(
      owners.map((caller, index) => {
        const next = owners[(index + 1) % owners.length] as Person
        return callApi('PATCH', `members/${next.id}`, caller, { role: 'viewer' })
      }),
    )
    const successCount = responses.filter(({ status }) => status === 200).length
    const refusedCount = responses.filter(({ status }) => [401, 403, 409].includes(status)).length
    expect(successCount + refusedCount).toBe(10)
    expect(await countOwners()).toBe(10 - successCount)
    expect(successCount).toBeLessThan(10)
  })
})

describe('an account', () => {
  test('that is suspended only shows its members and lets them leave', async () => {
    const ana = await signInMember('developer')
    await suspendAccount(merchant.id, 'test', { type: 'system' })
    expect((await callApi('GET', 'members', ana)).status).toBe(200)
    const refused = [403, '{"error":"Account not active"}', 'account_not_active']
    expect(refusal(await invite(makeEmail()))).toEqual(refused)
    expect(refusal(await callApi('DELETE', `members/${ana.id}`, owner))).toEqual(refused)
    expect((await callApi('POST', 'members/leave', ana)).status).toBe(200)
    const foreign = { ...pageHeaders(owner.secret, merchant.id), origin: 'https://evil.example' }
    const response = await call(api.url, 'POST', '/dashboard/members/leave', { headers: foreign })
    expect(response.headers.get('x-error-code')).toBe('cross_origin')
  })

  test('that is suspended mails its owners, but none who is disabled', async () => {
    const disabled = await signInMember('owner')
    await db().user.update({ where: { id: disabled.id }, data: { disabledAt: new Date() } })
    await suspendAccount(merchant.id, 'test', { type: 'system' })
    expect(await readMailsTo(owner.email)).toHaveLength(1)
    expect(await readMailsTo(disabled.email)).toEqual([])
  })

  test('without live mode has its members there too; a change needs a recent proof of identity', async () => {
    const ana = await signInMember('viewer')
    const change = () => callApi('PATCH', `members/${ana.id}`, owner, { role: 'finance' }, 'live')
    await db().$executeRaw`UPDATE user_sessions SET proved_at = now() - interval '301 seconds'
      WHERE secret_hash = ${hashSecret(owner.secret)}`
    expect((await change()).headers.get('x-error-code')).toBe('proof_required')
    expect(await roleOf(ana.id)).toBe('viewer')
    await db().$executeRaw`UPDATE user_sessions SET proved_at = now()
      WHERE secret_hash = ${hashSecret(owner.secret)}`
    expect((await change()).status).toBe(200)
  })
})
