import { createAccount } from '#lib/accounts/create.ts'
import { hashPassword, isPassword } from '#lib/accounts/password.ts'
import { registerUser } from '#lib/accounts/register.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { db } from '#lib/db/client.ts'
import { fillPast } from '#prisma/past.ts'

export const DEMO_MERCHANT = 'demo@troco.local'
export const DEMO_ADMIN = 'admin@troco.local'

const ACTOR = { type: 'system' } as const
/** The merchant and the admin that a newcomer signs in as, with the password that is printed. */
export async function makeDemoWorld(password: string): Promise<Account> {
  const existing = await db().user.findUnique({
    where: { email: DEMO_MERCHANT },
    include: { memberships: { include: { account: true } } },
  })
  const made = existing?.memberships[0]?.account
  if (made) {
    await keepPassword(password)
    return made as Account
  }
  const passwordHash = await hashPassword(password)
  const merchant = { email: DEMO_MERCHANT, name: 'Aurora', passwordHash, isAdmin: false }
  if (!existing) await registerUser(merchant, ACTOR)
  if (!(await db().user.findUnique({ where: { email: DEMO_ADMIN } }))) {
    await registerUser({ email: DEMO_ADMIN, name: 'Admin', passwordHash, isAdmin: true }, ACTOR)
  }
  const account = await createAccount({ name: 'Loja Aurora', ownerEmail: DEMO_MERCHANT }, ACTOR)
  await fillPast(account)
  return account
}

/** A DEMO_PASSWORD that was changed since is the one that works. */
async function keepPassword(password: string): Promise<void> {
  const users = await db().user.findMany({ where: { email: { in: [DEMO_MERCHANT, DEMO_ADMIN] } } })
  for (const user of users) {
    if (await isPassword(password, user.passwordHash)) continue
    await db().user.update({
      where: { id: user.id },
      data: { passwordHash: await hashPassword(password) },
    })
  }
}
