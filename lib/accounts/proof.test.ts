import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { createAccount, openAccount, requestSignUp } from '#lib/accounts/create.ts'
import { inviteMember, inviteMerchant } from '#lib/accounts/invitations.ts'
import { joinAccount, joinAsNewUser } from '#lib/accounts/join.ts'
import { addMember, admitPending } from '#lib/accounts/members.ts'
import { parseDatabaseError } from '#lib/core/errors.ts'
import { newId } from '#lib/core/ids.ts'
import { db, transaction } from '#lib/db/client.ts'
import { makeMerchant } from '#lib/testing/fixtures.ts'

/** Every file that adds members, and the SQL or Prisma call by which it does. */
const WRITERS = ['lib/accounts/members.ts insert into memberships']

const INSERTION =
  /insert\s+into\s+"?memberships"?|copy\s+"?memberships"?|\bmembership\s*\.\s*(?:create\w*|upsert)|\bmemberships\s*:\s*\{\s*(?:create\w*|connect\w*|upsert)/gi

test('one statement of the source adds members', async () => {
  const files = (
    await Array.fromAsync(glob('{app,bin,components,lib,prisma}/**/*.{ts,tsx,sql,mjs}'))
  )
    .filter(file => !/\.test\.ts$|^lib\/testing\/|^lib\/db\/generated\//.test(file))
    .sort()
  const found = files.flatMap(file =>
    [...readFileSync(file, 'utf8').matchAll(INSERTION)].map(
      ([text]) => `${file} ${text.toLowerCase().replaceAll(/\s+/g, ' ')}`,
    ),
  )
  expect(files.length).toBeGreaterThan(300)
  expect(found).toEqual(WRITERS)
  for (const text of [
    'INSERT INTO memberships (a)',
    'insert  into "memberships"',
    'tx.membership.createMany({',
    'db().membership\n  .upsert({',
    'memberships: { create: {} }',
  ]) {
    expect(text.match(INSERTION), text).not.toBeNull()
  }
})

async function makeUnprovenUser() {
  const [id, email] = [newId(), `new-${newId()}@troco.example`]
  await db().user.create({ data: { id, email, name: email, passwordHash: 'x' } })
  return { id, email }
}

const ownerOf = async (accountId: string) => {
  const { userId } = await db().membership.findFirstOrThrow({ where: { accountId } })
  return { type: 'user', id: userId } as const
}
const secretOf = (path: string) => path.split('/').at(-1) ?? ''

type Attempt = (user: { id: string; email: string }) => Promise<unknown>

const ATTEMPTS: Record<string, Attempt> = {
  'addMember leaves the membership pending': async ({ id: userId }) => {
    const { id: accountId } = await makeMerchant()
    expect(
      await transaction(tx => addMember(tx, { accountId, userId, vouchers: null, role: 'owner' })),
    ).toBe(false)
  },
  'admitPending without a proof': async ({ id: userId }) => {
    const { id: accountId } = await makeMerchant()
    await db().pendingMembership.create({ data: { accountId, userId, role: 'owner' } })
    await transaction(tx => admitPending(tx, userId))
  },
  'account create': async ({ email: ownerEmail }) => {
    const account = await createAccount({ name: 'Loja', ownerEmail }, { type: 'command_line' })
    expect(account.isOwnerPending).toBe(true)
  },
  'sign-up': ({ email }) => requestSignUp({ email, account_name: 'Loja', full_name: 'Ana' }),
  'another account of the signed-in user': async user => {
    await expect(openAccount({ account_name: 'Loja' }, user)).rejects.toThrow(/Confirm your e-mail/)
  },
  'the shown link of an invitation': async user => {
    const { id } = await makeMerchant()
    const request = { email: user.email, role: 'owner' } as const
    const { path } = await inviteMember(id, request, await ownerOf(id))
    await expect(joinAccount(secretOf(path), user)).rejects.toThrow(/Confirm your e-mail/)
    const newcomer = {
      secret: secretOf(path),
      full_name: 'Ana',
      password: 'girafa azul dorme tarde',
    }
    await expect(joinAsNewUser(newcomer)).rejects.toThrow(/Confirm your e-mail/)
  },
  "the shown link of the operator's invitation": async user => {
    const { path } = await inviteMerchant(user.email, await ownerOf((await makeMerchant()).id))
    const secret = secretOf(path)
    const opening = openAccount({ account_name: 'Loja', secret }, user)
    await expect(opening).rejects.toThrow(/Confirm your e-mail/)
  },
  'SQL and Prisma, past every operation': async ({ id: userId }) => {
    const { id: accountId } = await makeMerchant()
    const attempts = [
      db().membership.create({ data: { accountId, userId, role: 'viewer' } }),
      db().$executeRaw`INSERT INTO memberships (account_id, user_id, role)
        VALUES (${accountId}::uuid, ${userId}::uuid, 'viewer')`,
      db().$executeRaw`INSERT INTO memberships (account_id, user_id, role, is_email_verified)
        VALUES (${accountId}::uuid, ${userId}::uuid, 'viewer', false)`,
      db().$executeRaw`UPDATE memberships SET user_id = ${userId}::uuid
        WHERE account_id = ${accountId}::uuid`,
    ]
    for (const attempt of attempts) {
      const error = await attempt.then(
        () => null,
        problem => problem,
      )
      expect(String(parseDatabaseError(error).code ?? error)).toMatch(/23503|23514|P2003/)
    }
  },
}

test.each(Object.entries(ATTEMPTS))(
  'an unproven address gains nothing by %s',
  async (_, attempt) => {
    const user = await makeUnprovenUser()
    await attempt(user)
    expect(await db().membership.count({ where: { userId: user.id } })).toBe(0)
    const { isEmailVerified } = await db().user.findUniqueOrThrow({ where: { id: user.id } })
    expect(isEmailVerified).toBe(false)
  },
)

test('a member cannot become unproven again', async () => {
  const { id: accountId } = await makeMerchant()
  const { id } = await ownerOf(accountId)
  const data = { emailVerifiedAt: null, emailVerifiedBy: null, isEmailVerified: false }
  await expect(db().user.update({ where: { id }, data })).rejects.toThrow()
})
