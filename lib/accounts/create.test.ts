import { describe, expect, test } from 'vitest'
import { createAccount } from '#lib/accounts/create.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { registerUser } from '#lib/people/users.ts'
import { expectBalancedLedger } from '#lib/testing/fixtures.ts'
import { openAccountWithOwner } from '#lib/testing/verified.ts'

const ACTOR = { type: 'command_line' } as const
const newEmail = () => `owner-${newId()}@troco.example`

function auditOf(accountId: string) {
  return db().auditRecord.findMany({ where: { accountId }, orderBy: { id: 'asc' } })
}

describe('an account', () => {
  test('is created with owner, ledger accounts, event sequences, webhook secrets and audit record', async () => {
    const ownerEmail = newEmail()
    const account = await openAccountWithOwner('  Padaria  ', ownerEmail)
    expect(account).toMatchObject({
      name: 'Padaria',
      city: 'BRASILIA',
      status: 'active',
      expiresIn: 86_400,
    })
    const where = { where: { accountId: account.id } }
    expect(await db().ledgerAccount.count(where)).toBe(6)
    expect(await db().eventSequence.count(where)).toBe(2)
    expect(await db().webhookSecret.count(where)).toBe(2)
    const [membership] = await db().membership.findMany({ ...where, include: { user: true } })
    expect(membership).toMatchObject({
      role: 'owner',
      user: { email: ownerEmail, isAdmin: false, passwordHash: null },
    })
    expect(await auditOf(account.id)).toMatchObject([
      {
        action: 'account.created',
        actorType: 'system',
        after: { name: 'Padaria', owner: membership?.userId },
      },
    ])
    await expectBalancedLedger(account.id)
  })

  test.each([
    '',
    '   ',
    'x'.repeat(256),
    'two\nlines',
    'a\ttab',
    '\u0001',
    'x\u202Ey',
    'see https://x',
    'www.x.example',
  ])('with a name like %j is refused, and nothing is written', async name => {
    const ownerEmail = newEmail()
    const newAccount = { name, ownerEmail }
    await expect(async () => createAccount(newAccount, ACTOR)).rejects.toMatchObject({
      code: 'invalid_input',
      fields: {
        name: [expect.stringMatching(/^name must (have 1 to 255|contain no (line|web))/)],
      },
    })
    expect(await db().user.count({ where: { email: ownerEmail } })).toBe(0)
  })

  test('may have a name of 255 characters of any script, emoji included', async () => {
    const name = '🥖'.repeat(255)
    expect((await createAccount({ name, ownerEmail: newEmail() }, ACTOR)).name).toBe(name)
  })

  test.each(['', 'ana', 'ana@', 'ana@exämple.com', 'аna@example.com'])(
    'for an owner with the e-mail %j is refused, and nothing is written',
    async ownerEmail => {
      const name = `Padaria ${newId()}`
      await expect(createAccount({ name, ownerEmail }, ACTOR)).rejects.toMatchObject({
        code: 'invalid_input',
        fields: { email: [expect.stringContaining('e-mail')] },
      })
      expect(await db().account.count({ where: { name } })).toBe(0)
    },
  )

  test('may have an owner of other accounts, found by e-mail in any letter case', async () => {
    const ownerEmail = newEmail()
    const first = await openAccountWithOwner('Uma', ownerEmail)
    const second = await createAccount(
      { name: 'Outra', ownerEmail: ` ${ownerEmail.toUpperCase()} ` },
      ACTOR,
    )
    const owners = await db().membership.findMany({
      where: { accountId: { in: [first.id, second.id] } },
    })
    expect(new Set(owners.map(owner => owner.userId)).size).toBe(1)
  })

  test('created ten times concurrently for a new owner makes ten accounts and one user', async () => {
    const ownerEmail = newEmail()
    const accounts = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        createAccount({ name: `Filial ${index}`, ownerEmail }, ACTOR),
      ),
    )
    expect(new Set(accounts.map(account => account.id)).size).toBe(10)
    expect(await db().user.count({ where: { email: ownerEmail } })).toBe(1)
  })
})

describe('a user', () => {
  const makeNewUser = (email: string) => ({ email, passwordHash: 'x', isAdmin: true })

  test('is stored with the e-mail in lower case, and the audit record states whether the user is an admin', async () => {
    const email = newEmail()
    const { id } = await registerUser(makeNewUser(email.toUpperCase()), ACTOR)
    expect(await db().user.findUniqueOrThrow({ where: { id } })).toMatchObject({
      email,
      name: email,
      isAdmin: true,
    })
    const [record] = await db().auditRecord.findMany({ where: { target: id } })
    expect(record).toMatchObject({ action: 'user.created', after: { admin: true } })
    expect(JSON.stringify(record)).not.toContain(email)
  })

  test('with an e-mail in use is refused, also in ten concurrent attempts', async () => {
    const email = newEmail()
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, () => registerUser(makeNewUser(email), ACTOR)),
    )
    const refusals = outcomes.flatMap(outcome =>
      outcome.status === 'rejected' ? [outcome.reason] : [],
    )
    expect(refusals).toHaveLength(9)
    for (const refusal of refusals) {
      expect(refusal).toMatchObject({
        code: 'invalid_input',
        fields: { email: ['email already belongs to another user'] },
      })
    }
  })
})
