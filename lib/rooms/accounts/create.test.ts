import { describe, expect, test } from 'vitest'
import { db } from '#lib/base/db/client.ts'
import { newId } from '#lib/base/ids.ts'
import { createAccount } from '#lib/rooms/accounts/create.ts'
import { registerUser } from '#lib/services/people/register.ts'
import { expectBalancedBooks } from '#lib/testing/stage.ts'

const ACTOR = { type: 'command_line' } as const
const someEmail = () => `owner-${newId()}@troco.example`

function auditOf(accountId: string) {
  return db().auditRecord.findMany({ where: { accountId }, orderBy: { id: 'asc' } })
}

describe('an account', () => {
  test('opens with its owner, its books, its numbering, its secrets and its record', async () => {
    const ownerEmail = someEmail()
    const account = await createAccount({ name: '  Padaria  ', ownerEmail }, ACTOR)
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
        actorType: 'command_line',
        after: { name: 'Padaria', owner: membership?.userId },
      },
    ])
    await expectBalancedBooks(account.id)
  })

  test.each(['', '   ', 'x'.repeat(256), 'two\nlines', 'a\ttab', '\u0001'])(
    'with a name like %j is refused whole',
    async name => {
      const ownerEmail = someEmail()
      const wanted = { name, ownerEmail }
      await expect(async () => createAccount(wanted, ACTOR)).rejects.toMatchObject({
        code: 'invalid_input',
        fields: {
          name: ['name must have 1 to 255 characters and no line breaks or control characters'],
        },
      })
      expect(await db().user.count({ where: { email: ownerEmail } })).toBe(0)
    },
  )

  test('may have a name of 255 characters of any script, emoji too', async () => {
    const name = '🥖'.repeat(255)
    expect((await createAccount({ name, ownerEmail: someEmail() }, ACTOR)).name).toBe(name)
  })

  test.each(['', 'ana', 'ana@', 'ana@exämple.com', 'аna@example.com'])(
    'for an owner at %j is refused whole',
    async ownerEmail => {
      const name = `Padaria ${newId()}`
      await expect(createAccount({ name, ownerEmail }, ACTOR)).rejects.toMatchObject({
        code: 'invalid_input',
        fields: { email: [expect.stringContaining('e-mail')] },
      })
      expect(await db().account.count({ where: { name } })).toBe(0)
    },
  )

  test('a person may own several; the e-mail counts in any spelling', async () => {
    const ownerEmail = someEmail()
    const first = await createAccount({ name: 'Uma', ownerEmail }, ACTOR)
    const second = await createAccount(
      { name: 'Outra', ownerEmail: ` ${ownerEmail.toUpperCase()} ` },
      ACTOR,
    )
    const owners = await db().membership.findMany({
      where: { accountId: { in: [first.id, second.id] } },
    })
    expect(new Set(owners.map(owner => owner.userId)).size).toBe(1)
  })

  test('ten at once for one new person make one person and ten accounts', async () => {
    const ownerEmail = someEmail()
    const accounts = await Promise.all(
      Array.from({ length: 10 }, (_, nth) =>
        createAccount({ name: `Filial ${nth}`, ownerEmail }, ACTOR),
      ),
    )
    expect(new Set(accounts.map(account => account.id)).size).toBe(10)
    expect(await db().user.count({ where: { email: ownerEmail } })).toBe(1)
  })
})

describe('a user', () => {
  const person = (email: string) => ({ email, passwordHash: 'x', isAdmin: true })

  test('is kept under one spelling, with a record of who is an admin', async () => {
    const email = someEmail()
    const { id } = await registerUser(person(email.toUpperCase()), ACTOR)
    expect(await db().user.findUniqueOrThrow({ where: { id } })).toMatchObject({
      email,
      name: email,
      isAdmin: true,
    })
    const [record] = await db().auditRecord.findMany({ where: { target: id } })
    expect(record).toMatchObject({ action: 'user.created', after: { admin: true } })
    expect(JSON.stringify(record)).not.toContain(email)
  })

  test('with an e-mail that is taken is refused, also when ten come at once', async () => {
    const email = someEmail()
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, () => registerUser(person(email), ACTOR)),
    )
    const refusals = outcomes.flatMap(one => (one.status === 'rejected' ? [one.reason] : []))
    expect(refusals).toHaveLength(9)
    for (const refusal of refusals) {
      expect(refusal).toMatchObject({
        code: 'invalid_input',
        fields: { email: ['email already belongs to another user'] },
      })
    }
  })
})
