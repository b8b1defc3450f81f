import { expect, test } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { hashSecret, newSecret } from '#lib/core/keys.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { hashPassword } from '#lib/people/password.ts'
import { endSession, openSession } from '#lib/people/sessions.ts'
import { registerUser } from '#lib/people/users.ts'
import { readSession } from '#lib/session/read.ts'
import { authenticateByPassword } from '#lib/session/sign-in.ts'
import { makeMerchant } from '#lib/testing/fixtures.ts'

const PASSWORD = 'quite a long password'
const CALLER = { ip: '203.0.113.9', userAgent: 'a browser' }

async function makeUser() {
  const email = `ana-${newId()}@troco.example`
  const passwordHash = await hashPassword(PASSWORD)
  const { id } = await registerUser(
    { email, passwordHash, isAdmin: false, verifiedBy: 'operator' },
    { type: 'system' },
  )
  return { id, email }
}

/** Changes a session in SQL: sessions expire by the database's clock, which a test cannot set. */
function updateSession(secret: string, assignment: Prisma.Sql) {
  return db().$executeRaw`
    UPDATE user_sessions SET ${assignment} WHERE secret_hash = ${hashSecret(secret)}`
}

test("a session returns its user and the user's accounts", async () => {
  const { id, email } = await makeUser()
  const merchant = await makeMerchant('Loja da Ana')
  await db().membership.create({ data: { accountId: merchant.id, userId: id, role: 'finance' } })
  const user = await readSession(await openSession(id, CALLER))
  const { city, expiresIn } = merchant
  const zone = { timeZone: 'America/Sao_Paulo', chargeReviewAbove: null }
  const statusFields = { ...zone, status: 'active', statusReason: null, role: 'finance' }
  const connections = { receivingConnectionId: null, payingConnectionId: null }
  const accounts = [
    { id: merchant.id, name: 'Loja da Ana', city, expiresIn, ...statusFields, ...connections },
  ]
  const preferences = { locale: null, theme: null }
  const sessionId = expect.stringMatching(/^[0-9a-f-]{36}$/)
  const proof = { sessionId, provedAgoS: 0, hasSecondFactor: false }
  const person = { id, email, isEmailVerified: true, name: email, isAdmin: false }
  expect(user).toEqual({ ...person, ...proof, ...preferences, accounts, viewing: null })
})

test('the table never contains the secret of a session', async () => {
  const { id } = await makeUser()
  const secret = await openSession(id, CALLER)
  const [row] = await db().$queryRaw<{ row: string }[]>`
    SELECT to_jsonb(s)::text AS row FROM user_sessions s WHERE user_id = ${id}::uuid`
  expect(row?.row).toContain(CALLER.ip)
  expect(row?.row).not.toContain(secret)
})

test('an unknown or malformed secret opens no session', async () => {
  for (const secret of [newSecret(), '', 'x', '%', `${newSecret()}x`]) {
    expect(await readSession(secret)).toBeNull()
  }
})

test('signing out ends this session and no other', async () => {
  const { id } = await makeUser()
  const [ended, active] = [await openSession(id, CALLER), await openSession(id, CALLER)]
  await endSession(ended)
  expect(await readSession(ended)).toBeNull()
  expect(await readSession(active)).not.toBeNull()
})

test.each([
  ['12 idle hours', Prisma.sql`last_used_at = now() - interval '12 hours'`],
  ['30 days, however busy', Prisma.sql`expires_at = now()`],
])('a session expires after %s', async (_, assignment) => {
  const { id } = await makeUser()
  const secret = await openSession(id, CALLER)
  await updateSession(secret, assignment)
  expect(await readSession(secret)).toBeNull()
})

test("disabling a user ends the user's sessions at once", async () => {
  const { id } = await makeUser()
  const secret = await openSession(id, CALLER)
  await db().user.update({ where: { id }, data: { disabledAt: new Date() } })
  expect(await readSession(secret)).toBeNull()
})

test('use is recorded at most once a minute and extends an idle session', async () => {
  const { id } = await makeUser()
  const secret = await openSession(id, CALLER)
  const lastUse = async () =>
    (await db().userSession.findFirstOrThrow({ where: { userId: id } })).lastUsedAt.getTime()
  const opened = await lastUse()
  await readSession(secret)
  expect(await lastUse()).toBe(opened)
  await updateSession(secret, Prisma.sql`last_used_at = now() - interval '11 hours'`)
  expect(await readSession(secret)).not.toBeNull()
  expect(await lastUse()).toBeGreaterThanOrEqual(opened)
})

test('only the correct password of an enabled user is accepted', async () => {
  const { id, email } = await makeUser()
  expect(
    await authenticateByPassword({ email: ` ${email.toUpperCase()} `, address: null }, PASSWORD),
  ).toMatchObject({ id })
  expect(await authenticateByPassword({ email, address: null }, `${PASSWORD} `)).toBeNull()
  expect(await authenticateByPassword({ email: `x${email}`, address: null }, PASSWORD)).toBeNull()
  expect(
    await authenticateByPassword({ email: 'not an address', address: null }, PASSWORD),
  ).toBeNull()
  await db().user.update({ where: { id }, data: { disabledAt: new Date() } })
  expect(await authenticateByPassword({ email, address: null }, PASSWORD)).toBeNull()
})
