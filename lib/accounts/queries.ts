import type {
  Account,
  AccountLimits,
  InvitationRow,
  MemberRow,
  Role,
} from '#lib/accounts/schema.ts'
import type { AssignedConnections } from '#lib/banks/schema.ts'
import { refuse } from '#lib/core/errors.ts'
import { normalizeEmail } from '#lib/core/fields.ts'
import { isUuid } from '#lib/core/ids.ts'
import { hashSecret } from '#lib/core/keys.ts'
import { cents } from '#lib/core/money.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { asJson, queryRows, utc } from '#lib/db/sql.ts'
import { hasSecondFactor } from '#lib/people/factors.ts'

interface ListedAccount extends Account {
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

/** Returns the settings that no session carries. */
export async function readDetails(id: string) {
  const select = { repeatsExternalIds: true, shopUrl: true, cnpj: true } as const
  const found = await db().account.findUniqueOrThrow({ where: { id }, select })
  return {
    repeats_external_ids: found.repeatsExternalIds,
    shop_url: found.shopUrl,
    cnpj: found.cnpj,
  }
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

const memberAsJson = asJson(Prisma.sql`
  u.id AS user_id, u.name AS full_name, u.email, m.role, ${utc('m.created_at', 'joined_at')},
  (SELECT ${utc('max(s.last_used_at)', 'last_used_at')} FROM user_sessions s
    WHERE s.user_id = u.id) AS last_used_at,
  ${hasSecondFactor} AS has_second_factor`)

export function listMembers(accountId: string): Promise<MemberRow[]> {
  return queryRows<MemberRow>(Prisma.sql`
    SELECT ${memberAsJson}::text AS json FROM memberships m JOIN users u ON u.id = m.user_id
    WHERE m.account_id = ${accountId}::uuid ORDER BY m.created_at, u.id`)
}

const invitationAsJson = asJson(Prisma.sql`
  i.id, i.email, i.role, u.name AS invited_by, ${utc('i.created_at')}, ${utc('i.expires_at')},
  i.expires_at <= now() AS is_expired`)

/** Lists invitations that are neither accepted nor revoked. A null account means the operator's. */
export function listInvitations(accountId: string | null): Promise<InvitationRow[]> {
  return queryRows<InvitationRow>(Prisma.sql`
    SELECT ${invitationAsJson}::text AS json FROM invitations i
    LEFT JOIN users u ON u.id = i.invited_by
    WHERE i.account_id IS NOT DISTINCT FROM ${accountId}::uuid
      AND i.accepted_at IS NULL AND i.revoked_at IS NULL
    ORDER BY i.created_at DESC, i.id`)
}

export interface InvitationDetails {
  /** Null: the operator's invitation to open an account. */
  account: string | null
  role: Role
  email: string
  inviter: string | null
  /** inactive: the invitation is valid, but its account is not active. */
  state: 'open' | 'expired' | 'used' | 'revoked' | 'inactive'
  /** Whether the link was mailed to the invited user; the other link is shown to the inviter. */
  isMailed: boolean
  /** Whether the e-mail can sign in; false for a shown link, whose owner must not learn it. */
  isKnown: boolean
}

type StoredInvitation = Omit<InvitationDetails, 'account'> & { accountId: string | null }

export async function findInvitation(secret: string): Promise<InvitationDetails | null> {
  const hash = hashSecret(secret)
  const [found] = await db().$queryRaw<StoredInvitation[]>`
    SELECT i.account_id AS "accountId", i.role, i.email, u.name AS inviter,
      CASE WHEN i.accepted_at IS NOT NULL THEN 'used' WHEN i.revoked_at IS NOT NULL THEN 'revoked'
        WHEN i.expires_at <= now() THEN 'expired' ELSE 'open' END AS state,
      i.hash <> ${hash} AS "isMailed",
      i.hash <> ${hash} AND EXISTS (SELECT FROM users k WHERE k.email = i.email) AS "isKnown"
    FROM invitations i LEFT JOIN users u ON u.id = i.invited_by
    WHERE i.hash = ${hash} OR i.mailed_hash = ${hash}`
  if (!found) return null
  const { accountId, ...invitation } = found
  if (accountId === null) return { ...invitation, account: null }
  const { name, status } = await db().account.findUniqueOrThrow({ where: { id: accountId } })
  const isInactive = invitation.state === 'open' && status !== 'active'
  return { ...invitation, account: name, state: isInactive ? 'inactive' : invitation.state }
}

/** Returns by account the e-mail of its first owner, or of one who has not proven theirs yet. */
export async function findOwnerEmails(accountIds: readonly string[]): Promise<Map<string, string>> {
  const rows = await queryRows<{ account_id: string; email: string }>(Prisma.sql`
    SELECT DISTINCT ON (m.account_id)
      json_build_object('account_id', m.account_id, 'email', u.email)::text AS json
    FROM (${membersSql}) m JOIN users u ON u.id = m.user_id
    WHERE m.account_id = ANY(${accountIds}::uuid[]) AND m.role = 'owner'
    ORDER BY m.account_id, m.is_pending, m.created_at, u.id`)
  return new Map(rows.map(({ account_id, email }) => [account_id, email]))
}

/** Members, and those who have not proven their e-mail yet. */
const membersSql = Prisma.sql`
  SELECT account_id, user_id, role, created_at, false AS is_pending FROM memberships
  UNION ALL
  SELECT account_id, user_id, role, created_at, true FROM pending_memberships`

/** Maximum accounts that a search by e-mail finds: the newest, far more than a list shows. */
const FOUND_MAX = 1_000

/** Finds accounts by a part of an owner's e-mail, newest first. */
export function findAccountsOfOwner(emailPart: string): Promise<string[]> {
  return queryRows<string>(Prisma.sql`
    SELECT to_json(m.account_id)::text AS json FROM (${membersSql}) m
    JOIN users u ON u.id = m.user_id
    WHERE m.role = 'owner' AND position(lower(${emailPart}) IN u.email) > 0
    GROUP BY m.account_id ORDER BY m.account_id DESC LIMIT ${FOUND_MAX}`)
}

/** Finds the accounts of a member, also a pending one, by the e-mail. Returns two at most. */
function findAccountsOfMember(email: string): Promise<string[]> {
  return queryRows<string>(Prisma.sql`
    SELECT DISTINCT to_json(m.account_id)::text AS json FROM (${membersSql}) m
    JOIN users u ON u.id = m.user_id WHERE u.email = ${email} LIMIT 2`)
}
