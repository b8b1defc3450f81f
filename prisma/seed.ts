import { createAccount } from '#lib/accounts/create.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { suspendAccount } from '#lib/accounts/settings.ts'
import { recordAudit } from '#lib/audit/record.ts'
import { db, transaction } from '#lib/db/client.ts'
import { hashPassword, verifyPassword } from '#lib/people/password.ts'
import { registerUser } from '#lib/people/users.ts'
import { createHistory } from '#prisma/demo-history.ts'

export const DEMO_MERCHANT = 'demo@troco.local'
export const DEMO_ADMIN = 'admin@troco.local'

const ACTOR = { type: 'system' } as const
/** Action recorded last. Without it, the creation of a demo account was interrupted. */
const DEMO_COMPLETED = 'demo.made'

/** Creates the demo merchant, admin and account, or returns the existing account. */
export async function createDemoData(password: string): Promise<Account> {
  await upsertDemoUsers(password)
  for (const account of await listDemoAccounts()) {
    const completion = await db().auditRecord.findFirst({
      where: { accountId: account.id, action: DEMO_COMPLETED },
    })
    if (completion) return account
    await retireAccount(account.id)
  }
  const account = await createAccount({ name: 'Loja Aurora', ownerEmail: DEMO_MERCHANT }, ACTOR)
  await createHistory(account)
  await transaction(tx =>
    recordAudit(tx, { actor: ACTOR, action: DEMO_COMPLETED, accountId: account.id }),
  )
  return account
}

/** Creates both demo users, or updates their passwords after DEMO_PASSWORD changed. */
async function upsertDemoUsers(password: string): Promise<void> {
  const people = [
    { email: DEMO_MERCHANT, name: 'Aurora', isAdmin: false },
    { email: DEMO_ADMIN, name: 'Admin', isAdmin: true },
  ]
  for (const person of people) {
    const { email } = person
    const user = await db().user.findUnique({ where: { email } })
    if (user && (await verifyPassword(password, user.passwordHash))) continue
    const passwordHash = await hashPassword(password)
    if (user) await db().user.update({ where: { email }, data: { passwordHash } })
    else await registerUser({ ...person, passwordHash, verifiedBy: 'operator' }, ACTOR)
  }
}

async function listDemoAccounts(): Promise<Account[]> {
  const rows = await db().membership.findMany({
    where: { user: { email: DEMO_MERCHANT } },
    orderBy: { createdAt: 'asc' },
  })
  const accounts = await Promise.all(
    rows.map(({ accountId: id }) => db().account.findUniqueOrThrow({ where: { id } })),
  )
  return accounts as Account[]
}

/**
 * Suspends an incomplete demo account and removes its members, as ledger entries are undeletable.
 */
async function retireAccount(accountId: string): Promise<void> {
  await suspendAccount(accountId, 'Creation of the demo data was interrupted', ACTOR)
  await db().membership.deleteMany({ where: { accountId } })
}
