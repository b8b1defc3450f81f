import { expect, test } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { hasSecondFactor, isSecondFactorMissing, listFactors } from '#lib/people/factors.ts'
import type { Factor } from '#lib/people/schema.ts'

const CASES: { app: 'none' | 'unconfirmed' | 'confirmed'; passkeys: number; factors: Factor[] }[] =
  [
    { app: 'none', passkeys: 0, factors: [] },
    { app: 'unconfirmed', passkeys: 0, factors: [] },
    { app: 'confirmed', passkeys: 0, factors: ['code'] },
    { app: 'none', passkeys: 1, factors: ['passkey'] },
    { app: 'unconfirmed', passkeys: 2, factors: ['passkey'] },
    { app: 'confirmed', passkeys: 2, factors: ['code', 'passkey'] },
  ]

async function makeUser({ app, passkeys }: (typeof CASES)[number]) {
  const id = newId()
  await db().user.create({ data: { id, email: `${id}@troco.example`, name: 'Ana' } })
  const confirmedAt = app === 'confirmed' ? new Date() : null
  if (app !== 'none') {
    await db().authenticator.create({ data: { userId: id, sealed: Buffer.from('x'), confirmedAt } })
  }
  for (let index = 0; index < passkeys; index++) {
    const row = { id: newId(), userId: id, publicKey: Buffer.from('x'), counter: 0, name: 'Key' }
    await db().passkey.create({ data: { ...row, credentialId: row.id } })
  }
  return id
}

test.each(CASES)('the rule in SQL and the list of factors agree: %o', async testCase => {
  const id = await makeUser(testCase)
  const hasFactor = testCase.factors.length > 0
  expect(await listFactors(id)).toEqual(testCase.factors)
  const [row] = await db().$queryRaw<{ has: boolean }[]>(
    Prisma.sql`SELECT ${hasSecondFactor} AS has FROM users u WHERE u.id = ${id}::uuid`,
  )
  expect(row).toEqual({ has: hasFactor })
})

test('only in production an admin needs a second factor', () => {
  const before = env().TROCO_ENV
  const admin = { isAdmin: true, hasSecondFactor: false }
  try {
    supplyEnv({ TROCO_ENV: 'production' })
    expect(isSecondFactorMissing(admin)).toBe(true)
    expect(isSecondFactorMissing({ ...admin, hasSecondFactor: true })).toBe(false)
    expect(isSecondFactorMissing({ ...admin, isAdmin: false })).toBe(false)
    supplyEnv({ TROCO_ENV: 'local' })
    expect(isSecondFactorMissing(admin)).toBe(false)
  } finally {
    supplyEnv({ TROCO_ENV: before })
  }
})
