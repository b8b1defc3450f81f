import { findAccountsOfMember, findOwnerEmails } from '#lib/accounts/people-queries.ts'
import type { Account, AccountLimits } from '#lib/accounts/schema.ts'
import type { AssignedConnections } from '#lib/banks/schema.ts'
import { normalizeEmail } from '#lib/core/email.ts'
import { refuse } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import { cents } from '#lib/core/money.ts'
import { db } from '#lib/db/client.ts'

export interface ListedAccount extends Account {
  ownerEmail: string | null
  createdAt: Date
}

export async function listAccounts(): Promise<ListedAccount[]> {
  const rows = await db().account.findMany({ orderBy: { id: 'asc' } })
  const ownerEmails = await findOwnerEmails(rows.map(({ id }) => id))
  return rows.map(account => ({
    ...(account as Account),
    createdAt: account.createdAt,
    ownerEmail: ownerEmails.get(account.id) ?? null,
  }))
}

/** Finds an account by id, or by the e-mail of a member, also a pending one, of only one account. */
export async function findAccount(idOrEmail: string): Promise<Account> {
  const ids = isUuid(idOrEmail)
    ? [idOrEmail]
    : await findAccountsOfMember(normalizeEmail(idOrEmail) ?? '')
  const found = await db().account.findMany({ where: { id: { in: ids } } })
  if (found.length === 1) return found[0] as Account
  const message =
    found.length === 0
      ? `No account found for ${idOrEmail}: see \`account list\``
      : `${idOrEmail} belongs to several accounts: pass an account id, see \`account list\``
  throw refuse('not_found', message)
}

export async function findAccountName(id: string): Promise<string | null> {
  const found = await db().account.findUnique({ where: { id }, select: { name: true } })
  return found?.name ?? null
}

export async function listAccountNames(ids: string[]): Promise<Map<string, string>> {
  const select = { id: true, name: true } as const
  const found = await db().account.findMany({ where: { id: { in: ids } }, select })
  return new Map(found.map(({ id, name }) => [id, name]))
}

export async function readTimeZone(id: string): Promise<string> {
  const select = { timeZone: true } as const
  return (await db().account.findUniqueOrThrow({ where: { id }, select })).timeZone
}

/** Whether several charges of the account may have the same external_id. */
export async function readRepeatsExternalIds(id: string): Promise<boolean> {
  const select = { repeatsExternalIds: true } as const
  return (await db().account.findUniqueOrThrow({ where: { id }, select })).repeatsExternalIds
}

/** Returns the live-mode limits in cents; null is no limit. */
export async function readLimits(id: string): Promise<AccountLimits> {
  const maxima = { chargeMax: true, withdrawalMax: true, nightMax: true, dayMax: true } as const
  const found = await db().account.findUniqueOrThrow({ where: { id }, select: maxima })
  const limit = (value: bigint | null) => (value === null ? null : cents(value))
  const { chargeMax, withdrawalMax, nightMax, dayMax } = found
  return {
    charge_max: limit(chargeMax),
    withdrawal_max: limit(withdrawalMax),
    night_max: limit(nightMax),
    day_max: limit(dayMax),
  }
}

export async function readAssignedConnections(id: string): Promise<AssignedConnections> {
  const select = { receivingConnectionId: true, payingConnectionId: true } as const
  const found = await db().account.findUniqueOrThrow({ where: { id }, select })
  return { receiving_id: found.receivingConnectionId, paying_id: found.payingConnectionId }
}
