import { expect, test } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { listFactors, openChallenge, readChallenge } from '#lib/people/factors.ts'
import { findResetEmail, mailResetLink, resetSecondFactor } from '#lib/people/password.ts'
import { openSession } from '#lib/people/sessions.ts'
import { findMailedLink, mailsTo } from '#lib/testing/mailbox.ts'
import { VERIFIED } from '#lib/testing/verified.ts'

async function makeUser({ isAdmin = false } = {}) {
  const id = newId()
  const email = `${id}@troco.example`
  const passwordHash = 'unchanged'
  await db().user.create({ data: { id, email, name: 'Ana', passwordHash, ...VERIFIED, isAdmin } })
  await db().authenticator.create({
    data: { userId: id, sealed: Buffer.from('x'), confirmedAt: new Date() },
  })
  const key = { id: newId(), userId: id, publicKey: Buffer.from('x'), counter: 0, name: 'Key' }
  await db().passkey.create({ data: { ...key, credentialId: key.id } })
  await db().recoveryCode.create({ data: { userId: id, hash: Buffer.from('x') } })
  await openSession(id, { ip: null, userAgent: null }, new Date(Date.now() + 60_000))
  return { id, email }
}

async function makeActor() {
  const { id } = await makeUser({ isAdmin: true })
  return { type: 'user', id } as const
}

const countOpenSessions = (userId: string) =>
  db().userSession.count({ where: { userId, revokedAt: null } })

const listRecordsAbout = (target: string) => db().auditRecord.findMany({ where: { target } })

test('a link that staff requests reaches only the mailbox; nothing changes before it is opened', async () => {
  const [user, actor] = await Promise.all([makeUser(), makeActor()])
  expect(await mailResetLink(user.id, 'locked out', actor)).toBeUndefined()
  const [mail] = await mailsTo(user.email)
  expect(mail?.text).toContain('locked out')
  const secret = (await findMailedLink(user.email)).split('/').at(-1) ?? ''
  expect(await findResetEmail(secret)).toBe(user.email)
  const records = await listRecordsAbout(user.id)
  expect(records).toMatchObject([
    { action: 'user.reset_link_mailed', actorId: actor.id, reason: 'locked out' },
  ])
  expect(JSON.stringify(records)).not.toContain(secret)
  const stored = await db().user.findUniqueOrThrow({ where: { id: user.id } })
  expect(stored).toMatchObject({ passwordHash: 'unchanged', resetBy: actor.id })
  expect(await countOpenSessions(user.id)).toBe(1)
})

test('a reset of the second factor removes all of it once, ends the sessions and mails the person', async () => {
  const [user, actor] = await Promise.all([makeUser(), makeActor()])
  const link = await openChallenge('password_reset', { userId: user.id })
  const step = await openChallenge('second_factor', { userId: user.id })
  const outcomes = await Promise.all(
    [1, 2, 3].map(() => resetSecondFactor(user.id, 'lost phone', actor)),
  )
  expect(outcomes.filter(Boolean)).toHaveLength(1)
  expect(await listFactors(user.id)).toEqual([])
  expect(await db().recoveryCode.count({ where: { userId: user.id } })).toBe(0)
  expect(await countOpenSessions(user.id)).toBe(0)
  expect(await readChallenge('second_factor', step)).toBeNull()
  expect(await readChallenge('password_reset', link)).not.toBeNull()
  const stored = await db().user.findUniqueOrThrow({ where: { id: user.id } })
  expect(stored).toMatchObject({ passwordHash: 'unchanged', resetBy: actor.id })
  const mails = await mailsTo(user.email)
  expect(mails).toHaveLength(1)
  expect(mails[0]?.text).toContain('lost phone')
  expect(await listRecordsAbout(user.id)).toMatchObject([
    {
      action: 'user.second_factor_reset',
      actorId: actor.id,
      reason: 'lost phone',
      before: { factors: ['code', 'passkey'] },
    },
  ])
})

test('no admin resets an admin, not even themselves, and nobody resets a disabled or unknown user', async () => {
  const [admin, disabled, actor] = await Promise.all([
    makeUser({ isAdmin: true }),
    makeUser(),
    makeActor(),
  ])
  await db().user.update({ where: { id: disabled.id }, data: { disabledAt: new Date() } })
  for (const reset of [mailResetLink, resetSecondFactor]) {
    const codeOf = (id: string) =>
      reset(id, 'please', actor).then(
        () => 'done',
        (error: { code: string }) => error.code,
      )
    expect(await codeOf(admin.id)).toBe('admin_reset_refused')
    expect(await codeOf(actor.id)).toBe('admin_reset_refused')
    expect(await codeOf(disabled.id)).toBe('not_supported')
    expect(await codeOf(newId())).toBe('user_not_found')
    expect(await codeOf('none')).toBe('user_not_found')
  }
  for (const { id, email } of [admin, disabled]) {
    expect(await listFactors(id)).toEqual(['code', 'passkey'])
    expect(await countOpenSessions(id)).toBe(1)
    expect(await mailsTo(email)).toEqual([])
    expect(await listRecordsAbout(id)).toEqual([])
  }
})
