import { db, Prisma } from '#lib/base/db/client.ts'
import { utc } from '#lib/base/db/columns.ts'
import { asJson, queryRows } from '#lib/base/db/rows.ts'
import type { InvitationRow, MemberRow, Role } from '#lib/rooms/accounts/schema.ts'
import { hasSecondFactor } from '#lib/services/people/factors.ts'
import { hashSecret } from '#lib/services/people/secret.ts'

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

export async function findInvitation(secret: string): Promise<InvitationDetails | null> {
  const hash = hashSecret(secret)
  const [found] = await db().$queryRaw<InvitationDetails[]>`
    SELECT a.name AS account, i.role, i.email, u.name AS inviter,
      CASE WHEN i.accepted_at IS NOT NULL THEN 'used' WHEN i.revoked_at IS NOT NULL THEN 'revoked'
        WHEN i.expires_at <= now() THEN 'expired' WHEN a.status <> 'active' THEN 'inactive'
        ELSE 'open' END AS state,
      i.hash <> ${hash} AS "isMailed",
      i.hash <> ${hash} AND EXISTS (SELECT FROM users k WHERE k.email = i.email) AS "isKnown"
    FROM invitations i LEFT JOIN accounts a ON a.id = i.account_id
      LEFT JOIN users u ON u.id = i.invited_by
    WHERE i.hash = ${hash} OR i.mailed_hash = ${hash}`
  return found ?? null
}
