import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createAccount } from '#lib/accounts/create.ts'
import { inviteMember } from '#lib/accounts/invitations.ts'
import { findAccount, listAccounts } from '#lib/accounts/queries.ts'
import { newId } from '#lib/core/ids.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { changeFactor } from '#lib/people/factors.ts'
import { changePassword, createResetLink, hashPassword } from '#lib/people/password.ts'
import { openSession } from '#lib/people/sessions.ts'
import { registerUser } from '#lib/people/users.ts'
import { readSession } from '#lib/session/read.ts'
import { authenticateByPassword, type SignInDetails, signIn } from '#lib/session/sign-in.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  inOwnDatabase,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/fixtures.ts'
import { findMailedLink, mailsTo } from '#lib/testing/mailbox.ts'
import { personHeaders } from '#lib/testing/member.ts'
import { testInTorture } from '#lib/testing/torture.ts'

const STRANGERS_PASSWORD = 'a password of a stranger'
const PASSWORD = 'girafa azul dorme tarde'

inOwnDatabase()

let api: Api
beforeAll(async () => {
  api = await startApi()
})
beforeEach(async () => {
  supplyEnv({ SIGNUPS: 'open', NEW_ACCOUNTS: 'active' })
  await db().$executeRaw`DELETE FROM sign_in_attempts`
})
afterAll(() => api.close())

type Response = Awaited<ReturnType<typeof call>>
const makeEmail = () => `person-${newId()}@troco.example`
const secretOf = (link: string) => link.split('/').at(-1) ?? ''
const codeOf = ({ status, headers }: Response) => [status, headers.get('x-error-code')]
const asVisitor = (path: string, body: object) =>
  call(api.url, 'POST', `/visitor/${path}`, { headers: { origin: env().PUBLIC_URL }, body })
const asPerson = (secret: string, path: string, body: object = {}) =>
  call(api.url, 'POST', `/person/${path}`, { headers: personHeaders(secret), body })
const countMemberships = (email: string) => db().membership.count({ where: { user: { email } } })
const readUser = (email: string) =>
  db().user.findUniqueOrThrow({ where: { email }, include: { memberships: true } })

/** A user with the password, passkey, second factor and session of a stranger. */
async function makePreRegistered(email = makeEmail()) {
  const id = newId()
  const passwordHash = await hashPassword(STRANGERS_PASSWORD)
  await db().user.create({ data: { id, email, name: 'Ana', passwordHash } })
  const key = { credentialId: newId(), publicKey: new Uint8Array(1), counter: 0n, name: 'key' }
  await db().passkey.create({ data: { id: newId(), userId: id, ...key } })
  const app = { userId: id, sealed: new Uint8Array(), confirmedAt: new Date() }
  await db().authenticator.create({ data: app })
  await db().recoveryCode.create({ data: { userId: id, hash: new Uint8Array(32) } })
  const secret = await openSession(id, { ip: null, userAgent: null })
  return { id, email, secret }
}

/** An admin of the command line, who is never asked to prove the address, with an app and a passkey. */
async function makeAdmin() {
  const admin = { email: makeEmail(), passwordHash: await hashPassword(PASSWORD), isAdmin: true }
  const { id } = await registerUser(admin, { type: 'command_line' })
  const app = { userId: id, sealed: new Uint8Array(), confirmedAt: new Date() }
  await db().authenticator.create({ data: app })
  const key = { credentialId: newId(), publicKey: new Uint8Array(1), counter: 0n, name: 'key' }
  await db().passkey.create({ data: { id: newId(), userId: id, ...key } })
  await db().recoveryCode.create({ data: { userId: id, hash: new Uint8Array(32) } })
  return { id, email: admin.email }
}

async function countCredentials(userId: string) {
  return Promise.all([
    db().passkey.count({ where: { userId } }),
    db().authenticator.count({ where: { userId } }),
    db().recoveryCode.count({ where: { userId } }),
    db().userSession.count({ where: { userId, revokedAt: null } }),
  ])
}

describe('a stranger who registers the address of another person', () => {
  test('gains no user, account or session from a sign-up', async () => {
    const email = makeEmail()
    const response = await asVisitor('signup', { account_name: 'Loja', full_name: 'Ana', email })
    expect([response.status, response.body]).toEqual([200, { data: {} }])
    expect(await db().user.count({ where: { email } })).toBe(0)
    const withPassword = { account_name: 'Loja', full_name: 'Ana', email, password: PASSWORD }
    await asVisitor('signup', withPassword)
    expect(await db().user.count({ where: { email } })).toBe(0)
    expect(
      (await asVisitor('signup/confirm', { secret: 'x'.repeat(43), password: PASSWORD })).status,
    ).toBe(410)
  })

  testInTorture(
    'loses the password, factors and sessions when its owner resets the password',
    async () => {
      const { id, email, secret } = await makePreRegistered()
      await asVisitor('reset', { email })
      const link = secretOf(await findMailedLink(email))
      expect((await asVisitor('reset/confirm', { secret: link, password: PASSWORD })).status).toBe(
        200,
      )
      expect(await countCredentials(id)).toEqual([0, 0, 0, 0])
      expect(await readSession(secret)).toBeNull()
      expect(await authenticateByPassword({ email, address: null }, STRANGERS_PASSWORD)).toBeNull()
      expect(await authenticateByPassword({ email, address: null }, PASSWORD)).toMatchObject({ id })
      expect(await readUser(email)).toMatchObject({
        emailVerifiedBy: 'reset',
        isEmailVerified: true,
      })
    },
  )

  test('keeps nothing that was being added while the address was proven', async () => {
    const { id, email, secret } = await makePreRegistered()
    const sessionId = (await readSession(secret))?.sessionId ?? ''
    await db().user.update({ where: { id }, data: { passwordHash: null } })
    await asVisitor('reset', { email })
    const link = secretOf(await findMailedLink(email))
    const owner = { id, email, name: 'Ana', locale: null, sessionId }
    const change = { action: 'user.passkey_added', mail: 'passkeyAdded' } as const
    const key = { credentialId: newId(), publicKey: new Uint8Array(1), counter: 0n, name: 'late' }
    // Both requests passed the check of their session before the reset.
    await asVisitor('reset/confirm', { secret: link, password: PASSWORD })
    await db().user.update({ where: { id }, data: { passwordHash: null } })
    const adding = changeFactor(owner, change, tx =>
      tx.passkey.create({ data: { id: newId(), userId: id, ...key } }),
    )
    await expect(adding).rejects.toThrow('Unauthenticated')
    await expect(changePassword(owner, { password: 'tulipa azul no cais 7' })).rejects.toThrow(
      'Unauthenticated',
    )
    expect(await countCredentials(id)).toEqual([0, 0, 0, 0])
    expect((await readUser(email)).passwordHash).toBeNull()
  })

  test('gains nothing from a click of its owner on the confirmation link', async () => {
    const { email, secret } = await makePreRegistered()
    expect((await asPerson(secret, 'email')).status).toBe(200)
    const link = secretOf(await findMailedLink(email))
    const owner = await makePreRegistered()
    expect(codeOf(await asPerson(owner.secret, 'email/confirm', { secret: link }))).toEqual([
      410,
      'link_expired',
    ])
    const anonymous = { headers: { origin: env().PUBLIC_URL }, body: { secret: link } }
    expect((await call(api.url, 'POST', '/person/email/confirm', anonymous)).status).toBe(401)
    expect((await readUser(email)).isEmailVerified).toBe(false)
    expect((await readUser(owner.email)).isEmailVerified).toBe(false)
  })
})

async function invite(email: string) {
  const shop = await makeMerchant('Loja do Convite')
  const { userId } = await db().membership.findFirstOrThrow({ where: { accountId: shop.id } })
  const actor = { type: 'user', id: userId } as const
  const { path } = await inviteMember(shop.id, { email, role: 'owner' }, actor)
  return { shop, shown: secretOf(path), mailed: secretOf(await findMailedLink(email)) }
}

describe('an inviter who opens the link that the page shows', () => {
  const newcomer = (secret: string) => ({ secret, full_name: 'Ana', password: PASSWORD })

  test('registers nobody; the mailed link does, and proves the address', async () => {
    const email = makeEmail()
    const { shop, shown, mailed } = await invite(email)
    expect(codeOf(await asVisitor('join', newcomer(shown)))).toEqual([403, 'email_unverified'])
    expect(await db().user.count({ where: { email } })).toBe(0)
    expect((await asVisitor('join', newcomer(mailed))).status).toBe(200)
    const { emailVerifiedBy, memberships } = await readUser(email)
    expect([emailVerifiedBy, memberships[0]?.accountId]).toEqual(['invitation', shop.id])
  })

  test('learns no more from it whether the invited address can sign in', async () => {
    const known = await makePreRegistered()
    const [first, second] = [await invite(known.email), await invite(makeEmail())]
    const responses = [
      await asVisitor('join', newcomer(first.shown)),
      await asVisitor('join', newcomer(second.shown)),
    ]
    expect(responses[0]?.text).toBe(responses[1]?.text)
    expect(responses.map(codeOf)).toEqual([
      [403, 'email_unverified'],
      [403, 'email_unverified'],
    ])
  })

  test('adds no unproven user, signed in or not, until the mailed link is opened', async () => {
    const { email, secret } = await makePreRegistered()
    const { shown, mailed } = await invite(email)
    expect(codeOf(await asPerson(secret, 'join', { secret: shown }))).toEqual([
      403,
      'email_unverified',
    ])
    expect(await countMemberships(email)).toBe(0)
    expect(await db().pendingMembership.count({ where: { user: { email } } })).toBe(0)
    expect((await asPerson(secret, 'join', { secret: mailed })).status).toBe(200)
    expect(await countMemberships(email)).toBe(1)
  })

  test('can have the mailed link sent again, to the invited address only', async () => {
    const email = makeEmail()
    const { shown, mailed } = await invite(email)
    const mailed0 = (await mailsTo(email)).length
    const response = await asVisitor('join/mail', { secret: shown })
    expect([response.status, response.body]).toEqual([200, { data: {} }])
    expect(await mailsTo(email)).toHaveLength(mailed0 + 1)
    const again = secretOf(await findMailedLink(email))
    expect(codeOf(await asVisitor('join', newcomer(mailed)))).toEqual([409, 'invitation_ended'])
    expect((await asVisitor('join', newcomer(again))).status).toBe(200)
    expect(codeOf(await asVisitor('join/mail', { secret: shown }))).toEqual([
      409,
      'invitation_ended',
    ])
    expect(codeOf(await asVisitor('join/mail', { secret: 'none' }))).toEqual([
      409,
      'invitation_ended',
    ])
    for (let count = 0; count < 8; count++)
      await asVisitor('join/mail', { secret: (await invite(email)).shown })
    expect((await mailsTo(email)).length).toBeLessThan(mailed0 + 1 + 8 + 5 + 1)
  })
})

describe('an account created on the command line for an unknown address', () => {
  test('works at once by its token, and has an owner as soon as the mailbox is proven', async () => {
    const ownerEmail = makeEmail()
    const ownerPasswordHash = await hashPassword(PASSWORD)
    const account = await createAccount(
      { name: 'Loja', ownerEmail, ownerPasswordHash },
      { type: 'command_line' },
    )
    expect(account).toMatchObject({ isOwnerNew: true, isOwnerPending: true, status: 'active' })
    expect((await findAccount(ownerEmail.toUpperCase())).id).toBe(account.id)
    expect((await listAccounts()).find(({ id }) => id === account.id)?.ownerEmail).toBe(ownerEmail)
    const token = await makeToken(account.id)
    expect((await call(api.url, 'GET', '/account', { token })).body.name).toBe('Loja')
    expect(await countMemberships(ownerEmail)).toBe(0)

    const { id } = await readUser(ownerEmail)
    const secret = await openSession(id, { ip: null, userAgent: null })
    expect(await readSession(secret)).toMatchObject({ isEmailVerified: false, accounts: [] })
    await asPerson(secret, 'email')
    const link = secretOf(await findMailedLink(ownerEmail))
    const responses = await Promise.all(
      [1, 2, 3].map(() => asPerson(secret, 'email/confirm', { secret: link })),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 410, 410])
    expect(await readSession(secret)).toMatchObject({
      isEmailVerified: true,
      accounts: [{ id: account.id, role: 'owner' }],
    })
    const actions = await db().auditRecord.findMany({
      where: { target: id },
      orderBy: { id: 'asc' },
    })
    expect(actions.map(({ action, after }) => [action, after])).toEqual([
      ['user.email_verified', { by: 'link' }],
      ['member.joined', { role: 'owner' }],
    ])
    expect(await db().pendingMembership.count()).toBe(0)
    await asPerson(secret, 'email')
    expect(await mailsTo(ownerEmail)).toHaveLength(1)
  })

  test("is also owned after the operator's password link was used", async () => {
    const ownerEmail = makeEmail()
    const account = await createAccount({ name: 'Loja', ownerEmail }, { type: 'command_line' })
    const secret = secretOf(await createResetLink(ownerEmail, { type: 'command_line' }))
    await asVisitor('reset/confirm', { secret, password: PASSWORD })
    const { emailVerifiedBy, memberships } = await readUser(ownerEmail)
    expect([emailVerifiedBy, memberships[0]?.accountId]).toEqual(['operator', account.id])
  })

  testInTorture('has its owner, however the proof and the creation overlap', async () => {
    for (let round = 0; round < 10; round++) {
      const { email, secret } = await makePreRegistered()
      await asPerson(secret, 'email')
      const link = secretOf(await findMailedLink(email))
      await Promise.all([
        asPerson(secret, 'email/confirm', { secret: link }),
        createAccount({ name: 'Loja', ownerEmail: email }, { type: 'command_line' }),
        createAccount({ name: 'Filial', ownerEmail: email }, { type: 'command_line' }),
      ])
      expect(await countMemberships(email)).toBe(2)
    }
    expect(await db().pendingMembership.count()).toBe(0)
  })
})

describe('whoever reads the mail of an admin', () => {
  const password = 'tulipa azul no cais 77'

  test.each(['mailed', 'operator'] as const)(
    'passes no second step with a new password of a %s link, the first proof of the address',
    async kind => {
      const { id, email } = await makeAdmin()
      const session = await openSession(id, { ip: null, userAgent: null })
      if (kind === 'mailed') await asVisitor('reset', { email })
      const link =
        kind === 'mailed'
          ? await findMailedLink(email)
          : await createResetLink(email, { type: 'command_line' })
      const reset = await asVisitor('reset/confirm', { secret: secretOf(link), password })
      expect(reset.status).toBe(200)
      const by = kind === 'mailed' ? 'reset' : 'operator'
      expect(await readUser(email)).toMatchObject({ emailVerifiedBy: by, isAdmin: true })
      expect(await countCredentials(id)).toEqual([1, 1, 1, 0])
      expect(await readSession(session)).toBeNull()
      const details: SignInDetails = {}
      expect(await signIn({ email, password }, null, details)).toBeNull()
      expect(details.step?.methods).toEqual(['code', 'passkey'])
    },
  )
})

testInTorture('no other mail to an address uses up the password resets of its owner', async () => {
  const { email, secret } = await makePreRegistered()
  const { shown } = await invite(email)
  const statuses: number[] = []
  for (let count = 0; count < 6; count++) {
    const body = { email, account_name: 'Loja', full_name: 'Ana' }
    statuses.push((await asVisitor('signup', body)).status)
    statuses.push((await asVisitor('join/mail', { secret: shown })).status)
    statuses.push((await asPerson(secret, 'email')).status)
  }
  expect(statuses).toEqual([...Array(17).fill(200), 429])
  const before = (await mailsTo(email)).length
  for (let count = 0; count < 6; count++) await asVisitor('reset', { email })
  const resets = (await mailsTo(email)).slice(before)
  expect(resets).toHaveLength(5)
  for (const { text } of resets) expect(text).toMatch(/\/reset\/[\w-]{43}/)
})

describe('the response to a sign-up', () => {
  const request = (email: string) => ({ account_name: 'Loja', full_name: 'Ana', email })
  const shapeOf = ({ status, text, headers }: Response) => [
    status,
    text,
    [...headers.keys()].sort(),
  ]

  test('is the same for known and unknown addresses; the mail tells the rest', async () => {
    const unknown = makeEmail()
    const pending = await makePreRegistered()
    const known = await makePreRegistered()
    await db().user.update({ where: { id: known.id }, data: { disabledAt: new Date() } })
    const { userId } = await db().membership.findFirstOrThrow({
      where: { accountId: (await makeMerchant()).id },
    })
    const { email: member } = await db().user.findUniqueOrThrow({ where: { id: userId } })
    const [first, ...others] = await Promise.all(
      [unknown, pending.email, known.email, member].map(email =>
        asVisitor('signup', request(email)),
      ),
    )
    for (const other of others) expect(shapeOf(other)).toEqual(first && shapeOf(first))
    expect(first?.status).toBe(200)
    expect(await findMailedLink(unknown)).toMatch(/\/signup\/[\w-]{43}$/)
    expect((await mailsTo(member)).at(-1)?.text).toContain('/reset')
    expect(await findMailedLink(member)).toBe('/login')
    expect(await findMailedLink(pending.email)).toBe('/login')
  })

  test('comes after the same time', async () => {
    const known = (await makePreRegistered()).email
    for (const email of [known, makeEmail()]) {
      const began = performance.now()
      await asVisitor('signup', request(email))
      expect(performance.now() - began).toBeGreaterThanOrEqual(299)
    }
  })

  test('stays the same when an address gets no more mails', async () => {
    const email = makeEmail()
    const responses: Response[] = []
    for (let count = 0; count < 8; count++)
      responses.push(await asVisitor('signup', request(email)))
    expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(await mailsTo(email)).toHaveLength(5)
  })
})
