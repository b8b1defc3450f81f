import type { InvitationRow, MemberRow, Role } from '#lib/accounts/schema.ts'
import { hashSecret } from '#lib/core/keys.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { asJson, queryRows, utc } from '#lib/db/sql.ts'
import { hasSecondFactor } from '#lib/people/factors.ts'

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
export function findAccountsOfMember(email: string): Promise<string[]> {
  return queryRows<string>(Prisma.sql`
    SELECT DISTINCT to_json(m.account_id)::text AS json FROM (${membersSql}) m
    JOIN users u ON u.id = m.user_id WHERE u.email = ${email} LIMIT 2`)
}
