import { db } from '#lib/base/db/client.ts'
import { normalizeEmail } from '#lib/base/email.ts'
import { refuse } from '#lib/base/errors.ts'
import { isUuid } from '#lib/base/ids.ts'
import { cents } from '#lib/base/money.ts'
import type { Account, AccountLimits } from '#lib/rooms/accounts/schema.ts'

export interface ListedAccount extends Account {
  ownerEmail: string | null
  createdAt: Date
}

const firstOwner = {
  where: { role: 'owner' },
  orderBy: { createdAt: 'asc' },
  take: 1,
  select: { user: { select: { email: true } } },
} as const
const withOwner = { memberships: firstOwner, pendingMembers: firstOwner } as const

export async function listAccounts(): Promise<ListedAccount[]> {
  const rows = await db().account.findMany({ orderBy: { id: 'asc' }, include: withOwner })
  return rows.map(({ memberships, pendingMembers, ...account }) => ({
    ...(account as Account),
    createdAt: account.createdAt,
    ownerEmail: (memberships[0] ?? pendingMembers[0])?.user.email ?? null,
  }))
}

/** Finds an account by id, or by the e-mail of a member, also a pending one, of only one account. */
export async function findAccount(idOrEmail: string): Promise<Account> {
  const member = { some: { user: { email: normalizeEmail(idOrEmail) ?? '' } } }
  const where = isUuid(idOrEmail)
    ? { id: idOrEmail }
    : { OR: [{ memberships: member }, { pendingMembers: member }] }
  const found = await db().account.findMany({ where, take: 2 })
  if (found.length === 1) return found[0] as Account
  const message =
    found.length === 0
      ? `No account found for ${idOrEmail}: see \`account list\``
      : `${idOrEmail} belongs to several accounts: pass an account id, see \`account list\``
  throw refuse('not_found', message)
}

export async function readTimeZone(id: string): Promise<string> {
  const select = { timeZone: true } as const
  return (await db().account.findUniqueOrThrow({ where: { id }, select })).timeZone
}

/** Returns the live-mode limits in cents; null is no limit. */
export async function readLimits(id: string): Promise<AccountLimits> {
  const select = { chargeMax: true, withdrawalMax: true, nightMax: true } as const
  const found = await db().account.findUniqueOrThrow({ where: { id }, select })
  const limit = (value: bigint | null) => (value === null ? null : cents(value))
  const { chargeMax, withdrawalMax, nightMax } = found
  return {
    charge_max: limit(chargeMax),
    withdrawal_max: limit(withdrawalMax),
    night_max: limit(nightMax),
  }
}
