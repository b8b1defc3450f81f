import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { inviteMember } from '#lib/accounts/invitations.ts'
import { InvitationList, SignedUp } from '#lib/accounts/schema.ts'
import { activateAccount } from '#lib/accounts/settings.ts'
import { newId } from '#lib/core/ids.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { verifyPassword } from '#lib/people/password.ts'
import { readSession } from '#lib/session/read.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  makeToken,
  runAsOwner,
  startApi,
} from '#lib/testing/fixtures.ts'
import { findMailedLink } from '#lib/testing/mailbox.ts'
import {
  expectShape,
  personHeaders,
  refusal,
  signIn,
  signInAdmin,
  signInWithoutAccount,
} from '#lib/testing/member.ts'
import { testInTorture } from '#lib/testing/torture.ts'

const PASSWORD = 'girafa azul dorme tarde'

// All requests come from one address, and the limit of new accounts per address is low.
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

const makeEmail = () => `new-${newId()}@troco.example`
const signupRequest = (overrides: object = {}) => ({
  account_name: 'Padaria Nova',
  full_name: 'Ana Nova',
  email: makeEmail(),
  ...overrides,
})
const postAsVisitor = (path: string, body: object) =>
  call(api.url, 'POST', `/visitor/${path}`, { headers: { origin: env().PUBLIC_URL }, body })
const callAsPerson = (secret: string, path: string, body: object, method = 'POST') =>
  call(api.url, method, path, { headers: personHeaders(secret), body })
const statusAndCode = ({ status, headers }: Awaited<ReturnType<typeof postAsVisitor>>) => [
  status,
  headers.get('x-error-code'),
]
const secretOf = (link: string) => link.split('/').at(-1) ?? ''
const mailedSecret = async (email: string) => secretOf(await findMailedLink(email))
const choosePassword = (secret: string, password = PASSWORD) =>
  postAsVisitor('signup/confirm', { secret, password })

/** Repeats what waited too long for its hash, as it does on a busy machine. */
async function chooseWhenServed(secret: string): ReturnType<typeof choosePassword> {
  const response = await choosePassword(secret)
  return response.status === 503 ? chooseWhenServed(secret) : response
}

/** Requests a sign-up and opens its mailed link. */
async function signUp(body = signupRequest(), password = PASSWORD) {
  await postAsVisitor('signup', body)
  return choosePassword(await mailedSecret(body.email.trim().toLowerCase()), password)
}

/** Opens an account as a new user with the mailed link of an operator's invitation. */
const openByInvitation = (secret: string, account_name = 'Padaria Nova') =>
  postAsVisitor('join', { secret, account_name, full_name: 'Ana Nova', password: PASSWORD })

/** Counts the rows of every table that opening an account writes. */
async function countAllRows() {
  return Promise.all([
    db().user.count(),
    db().account.count(),
    db().membership.count(),
    db().ledgerAccount.count(),
    db().webhookSecret.count(),
    db().charge.count(),
    db().auditRecord.count(),
    db().invitation.count({ where: { acceptedAt: { not: null } } }),
  ])
}

async function emailOf(secret: string): Promise<string> {
  return (await readSession(secret))?.email ?? ''
}

/** Returns the secret of the mailed link of an operator's invitation. */
async function inviteMerchant(email: string, admin?: string): Promise<string> {
  const adminSecret = admin ?? (await signInAdmin())
  expect((await callAsPerson(adminSecret, '/admin/invitations', { email })).status).toBe(200)
  return mailedSecret(email)
}

describe('signing up', () => {
  test('opens an active account with an owner, a ledger and R$ 1.000,00 in test mode', async () => {
    const body = signupRequest({ email: ` Nova-${newId()}@Troco.Example ` })
    const response = await signUp(body)
    expect([response.status, response.body.data.status]).toEqual([200, 'active'])
    expectShape(SignedUp, response.body)
    const accountId = response.body.data.account_id
    const { role, user } = await db().membership.findFirstOrThrow({
      where: { accountId },
      include: { user: true },
    })
    const email = body.email.trim().toLowerCase()
    expect([role, user]).toMatchObject(['owner', { name: 'Ana Nova', email, isAdmin: false }])
    expect(await verifyPassword(PASSWORD, user.passwordHash)).toBe(true)
    const token = await makeToken(accountId)
    const account = await call(api.url, 'GET', '/account', { token })
    expect(account.body).toEqual({ name: 'Padaria Nova', balance: 100_000 })
    await expectBalancedLedger(accountId)
    const records = await db().auditRecord.findMany({ where: { actorId: user.id } })
    expect(records.map(({ action }) => action).sort()).toEqual(['account.created', 'user.created'])
    expect(JSON.stringify(records)).not.toContain(email)
  })

  test('opens a pending account where configured: 403 for tokens until an admin activates it', async () => {
    supplyEnv({ NEW_ACCOUNTS: 'pending' })
    const { body } = await signUp()
    expect(body.data.status).toBe('pending')
    const id = body.data.account_id
    const token = await makeToken(id)
    const before = await call(api.url, 'GET', '/account', { token })
    expect(refusal(before)).toEqual([403, '{"error":"Account not active"}', 'account_not_active'])
    await activateAccount(id, 'welcome', { type: 'system' })
    const after = await call(api.url, 'GET', '/account', { token })
    expect([after.status, after.body.balance]).toEqual([200, 100_000])
  })

  test.each([
    ['a look-alike e-mail', { email: 'аna@example.com' }, 'email'],
    ['an invalid e-mail', { email: 'ana' }, 'email'],
    ['no account name', { account_name: ' ' }, 'account_name'],
    ['an account name without letters', { account_name: '日本' }, 'account_name'],
    ['a name on two lines', { full_name: 'Ana\nNova' }, 'full_name'],
  ])('with %s is refused, naming the field, and stores nothing', async (_what, change, field) => {
    const before = await countAllRows()
    const { status, body } = await postAsVisitor('signup', signupRequest(change))
    expect([status, Object.keys(body.errors)]).toEqual([422, [field]])
    expect(await countAllRows()).toEqual(before)
  })

  test.each([
    ['a short password', 'short'],
    ['a common password', 'password1234'],
    ['their own name as a password', 'ana nova ana nova'],
  ])('with %s is refused, naming the field, and stores nothing', async (_what, password) => {
    const before = await countAllRows()
    const { status, body } = await signUp(signupRequest(), password)
    expect([status, Object.keys(body.errors)]).toEqual([422, ['password']])
    expect(await countAllRows()).toEqual(before)
  })

  testInTorture(
    'opens one account, however often the link is opened or the e-mail signs up',
    async () => {
      const body = signupRequest()
      await postAsVisitor('signup', body)
      const secret = await mailedSecret(body.email)
      await postAsVisitor('signup', { ...body, email: body.email.toUpperCase() })
      const other = await mailedSecret(body.email)
      const responses = await Promise.all(
        Array.from({ length: 10 }, () => chooseWhenServed(secret)),
      )
      const statuses = responses.map(({ status }) => status).sort()
      expect(statuses).toEqual([200, ...Array(9).fill(410)])
      const late = await choosePassword(other)
      expect([late.status, Object.keys(late.body.errors)]).toEqual([422, ['email']])
      const where = { user: { email: body.email } }
      expect(await db().membership.count({ where })).toBe(1)
    },
  )

  test('stores nothing when one step fails', async () => {
    await runAsOwner(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE 'no'; END $$`)
    for (const table of ['memberships', 'ledger_accounts', 'webhook_secrets', 'audit_log']) {
      const before = await countAllRows()
      await runAsOwner(`CREATE TRIGGER fails BEFORE INSERT ON ${table} EXECUTE FUNCTION refuse()`)
      expect((await signUp()).status, table).toBe(500)
      await runAsOwner(`DROP TRIGGER fails ON ${table}`)
      expect(await countAllRows(), table).toEqual(before)
    }
  })

  test('too often from one address is 429, before the password is checked', async () => {
    const weakRequest = { secret: 'x'.repeat(43), password: PASSWORD }
    const statuses: number[] = []
    for (let count = 0; count < 22; count++)
      statuses.push((await postAsVisitor('signup/confirm', weakRequest)).status)
    expect(statuses).toEqual([...Array(20).fill(410), 429, 429])
    const response = await postAsVisitor('signup', signupRequest())
    expect(statusAndCode(response)).toEqual([429, 'too_many_requests'])
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(3_000)
    const secret = 'x'.repeat(43)
    const joinRequest = { secret, full_name: 'Ana', password: PASSWORD }
    expect((await postAsVisitor('join', joinRequest)).status).toBe(429)
  })
})

describe('where accounts are opened by invitation', () => {
  beforeEach(() => supplyEnv({ SIGNUPS: 'invite', NEW_ACCOUNTS: 'pending' }))

  test('signing up requires an invitation for the same e-mail, which works once', async () => {
    const closed = [403, 'sign_up_closed']
    expect(statusAndCode(await postAsVisitor('signup', signupRequest()))).toEqual(closed)
    const email = makeEmail()
    const secret = await inviteMerchant(email)
    const before = await countAllRows()
    const other = await signInWithoutAccount()
    const opened = await callAsPerson(other, '/person/accounts', { account_name: 'X', secret })
    expect(statusAndCode(opened)).toEqual([403, 'other_person'])
    const unnamed = { secret, full_name: 'Ana', password: PASSWORD }
    const refused = await postAsVisitor('join', unnamed)
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ['account_name']])
    before[0] += 1
    expect(await countAllRows()).toEqual(before)
    const responses = await Promise.all([1, 2, 3].map(() => openByInvitation(secret)))
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 422, 422])
    const { data } = responses.find(({ status }) => status === 200)?.body ?? {}
    expect(data).toMatchObject({ role: 'owner', email })
    const account = await db().account.findUniqueOrThrow({ where: { id: data.account_id } })
    expect(account).toMatchObject({ status: 'active', name: 'Padaria Nova' })
    expect(await db().charge.count({ where: { accountId: account.id, status: 'paid' } })).toBe(1)
    const personSecret = await signInWithoutAccount()
    expect(
      statusAndCode(
        await callAsPerson(personSecret, '/person/accounts', { account_name: 'Outra' }),
      ),
    ).toEqual(closed)
    const ownInvitation = await inviteMerchant(await emailOf(personSecret))
    const openAccount = () =>
      callAsPerson(personSecret, '/person/accounts', {
        account_name: 'Outra',
        secret: ownInvitation,
      })
    const responsePair = await Promise.all([openAccount(), openAccount()])
    expect(responsePair.map(({ status }) => status).sort()).toEqual([200, 409])
    expect(statusAndCode(await openAccount())).toEqual([409, 'invitation_ended'])
  })

  test('without an invitation the response does not reveal whether an e-mail is known', async () => {
    const knownEmail = await emailOf(await signInWithoutAccount())
    for (const email of [knownEmail, makeEmail()]) {
      const refused = await postAsVisitor('signup', signupRequest({ email }))
      expect(statusAndCode(refused)).toEqual([403, 'sign_up_closed'])
    }
    expect(statusAndCode(await openByInvitation('none'))).toEqual([409, 'invitation_ended'])
  })

  test('an invitation to join opens no account, and an invitation to open an account joins none', async () => {
    const shop = await makeMerchant()
    const { userId } = await db().membership.findFirstOrThrow({ where: { accountId: shop.id } })
    const actor = { type: 'user', id: userId } as const
    const personSecret = await signInWithoutAccount()
    const email = await emailOf(personSecret)
    const toJoin = secretOf((await inviteMember(shop.id, { email, role: 'viewer' }, actor)).path)
    const toOpen = await inviteMerchant(email)
    const before = await countAllRows()
    const opened = await callAsPerson(personSecret, '/person/accounts', {
      account_name: 'X',
      secret: toJoin,
    })
    expect(statusAndCode(opened)).toEqual([409, 'invitation_ended'])
    const joined = await callAsPerson(personSecret, '/person/join', { secret: toOpen })
    expect(statusAndCode(joined)).toEqual([409, 'invitation_ended'])
    expect(await countAllRows()).toEqual(before)
    expect((await callAsPerson(personSecret, '/person/join', { secret: toJoin })).status).toBe(200)
    expect(
      (await callAsPerson(personSecret, '/person/accounts', { account_name: 'X', secret: toOpen }))
        .status,
    ).toBe(200)
  })

  test('the operator lists open invitations and revokes one', async () => {
    const admin = await signInAdmin()
    const email = makeEmail()
    const first = await inviteMerchant(email, admin)
    const second = await inviteMerchant(email, admin)
    const list = await callAsPerson(admin, '/admin/invitations', undefined as never, 'GET')
    expectShape(InvitationList, list.body)
    const ownInvitations = list.body.data.filter((one: { email: string }) => one.email === email)
    expect(ownInvitations).toHaveLength(1)
    expect(statusAndCode(await openByInvitation(first))[0]).toBe(409)
    const path = `/admin/invitations/${ownInvitations[0].id}`
    expect((await callAsPerson(admin, path, undefined as never, 'DELETE')).status).toBe(200)
    expect(statusAndCode(await callAsPerson(admin, path, undefined as never, 'DELETE'))).toEqual([
      404,
      'invitation_not_found',
    ])
    expect(statusAndCode(await openByInvitation(second))[0]).toBe(409)
    const records = await db().auditRecord.findMany({ where: { target: ownInvitations[0].id } })
    expect(records.map(({ action }) => action).sort()).toEqual([
      'invitation.revoked',
      'merchant.invited',
    ])
    expect(JSON.stringify(records)).not.toContain(email)
  })
})

test('where sign-up is closed nobody opens an account, invited or not', async () => {
  const secret = await inviteMerchant(makeEmail())
  const body = signupRequest()
  await postAsVisitor('signup', body)
  const signUpSecret = await mailedSecret(body.email)
  const closed = [403, 'sign_up_closed']
  supplyEnv({ SIGNUPS: 'closed' })
  expect(statusAndCode(await postAsVisitor('signup', signupRequest()))).toEqual(closed)
  expect(statusAndCode(await choosePassword(signUpSecret))).toEqual(closed)
  expect(statusAndCode(await openByInvitation(secret))).toEqual(closed)
  const admin = await signInAdmin()
  expect(
    statusAndCode(await callAsPerson(admin, '/admin/invitations', { email: makeEmail() })),
  ).toEqual(closed)
})

test('a signed-in user opens a second account and stays a member of the first', async () => {
  const shop = await makeMerchant()
  const personSecret = await signIn(shop, 'viewer')
  const { status, body } = await callAsPerson(personSecret, '/person/accounts', {
    account_name: 'Filial',
  })
  expect(status).toBe(200)
  expect((await readSession(personSecret))?.accounts).toMatchObject([
    { id: shop.id, role: 'viewer' },
    { id: body.data.account_id, name: 'Filial', role: 'owner', status: 'active' },
  ])
  await expectBalancedLedger(body.data.account_id)
})

describe('joining by invitation without an account', () => {
  async function inviteNewPerson(email: string) {
    const shop = await makeMerchant()
    const { userId } = await db().membership.findFirstOrThrow({ where: { accountId: shop.id } })
    const actor = { type: 'user', id: userId } as const
    await inviteMember(shop.id, { email, role: 'finance' }, actor)
    return { shop, secret: await mailedSecret(email) }
  }

  test('creates the user and the membership once, however often it is sent', async () => {
    const email = makeEmail()
    const { shop, secret } = await inviteNewPerson(email)
    const body = { secret, full_name: 'Bruno', password: PASSWORD, email: makeEmail() }
    const responses = await Promise.all([1, 2, 3].map(() => postAsVisitor('join', body)))
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 422, 422])
    const response = responses.find(({ status }) => status === 200)
    expect(response?.body.data).toEqual({ account_id: shop.id, role: 'finance', email })
    const user = await db().user.findUniqueOrThrow({
      where: { email },
      include: { memberships: true },
    })
    expect(user).toMatchObject({ name: 'Bruno', memberships: [{ role: 'finance' }] })
    expect(await db().user.count({ where: { email: body.email } })).toBe(0)
  })

  test('stores nothing for a weak password, an expired invitation or a known e-mail', async () => {
    const email = makeEmail()
    const { secret } = await inviteNewPerson(email)
    const body = { secret, full_name: 'Bruno', password: PASSWORD }
    const before = await countAllRows()
    expect((await postAsVisitor('join', { ...body, password: 'password1234' })).status).toBe(422)
    await db().invitation.updateMany({ where: { email }, data: { expiresAt: new Date() } })
    expect(statusAndCode(await postAsVisitor('join', body))).toEqual([409, 'invitation_ended'])
    expect(await countAllRows()).toEqual(before)
    const knownEmail = await emailOf(await signInWithoutAccount())
    const other = await inviteNewPerson(knownEmail)
    const response = await postAsVisitor('join', { ...body, secret: other.secret })
    expect([response.status, Object.keys(response.body.errors)]).toEqual([422, ['email']])
  })
})
