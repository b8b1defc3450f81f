import { keepApprovalInForce, mailNewApprover } from '#lib/accounts/approval-rule.ts'
import type { Vouchers } from '#lib/accounts/vouchers.ts'
import { recordAudit } from '#lib/audit/record.ts'
import type { Tx } from '#lib/db/client.ts'
import { APPROVER_ROLES } from '#lib/people/approvers.ts'

interface NewMember {
  accountId: string
  userId: string
  role: string
  /** Members who gave this one the role; null for the founder of the account. */
  vouchers: Vouchers | null
}

interface AddedMember {
  accountId: string
  role: string
}

/**
 * Adds a member; a user who has not proven the e-mail address becomes one at the proof. Returns
 * whether the user is a member now. An existing member's role does not change.
 */
export async function addMember(
  tx: Tx,
  { accountId, userId, role, vouchers }: NewMember,
): Promise<boolean> {
  // Waits for a concurrent proof, which would otherwise not find the pending membership.
  const [user] = await tx.$queryRaw<{ isProven: boolean }[]>`
    SELECT is_email_verified AS "isProven" FROM users WHERE id = ${userId}::uuid FOR SHARE`
  await tx.$executeRaw`
    INSERT INTO pending_memberships (account_id, user_id, role, role_by, role_via)
    VALUES (${accountId}::uuid, ${userId}::uuid, ${role},
      ${vouchers?.root ?? null}::uuid, ${vouchers?.via ?? []}::uuid[]) ON CONFLICT DO NOTHING`
  await insertDue(tx, userId)
  return user?.isProven ?? false
}

/** Turns the pending memberships of a user into memberships. For the transaction of the proof. */
export async function admitPending(tx: Tx, userId: string): Promise<void> {
  const actor = { type: 'user', id: userId } as const
  for (const { accountId, role } of await insertDue(tx, userId)) {
    const entry = { accountId, target: userId, after: { role } }
    await recordAudit(tx, { actor, action: 'member.joined', ...entry })
  }
}

/** Adds the memberships. A new approver weakens no rule, and the other approvers get a mail. */
async function insertDue(tx: Tx, userId: string): Promise<AddedMember[]> {
  const members = await insertMembers(tx, userId)
  // In one order, because accounts and their audit chains are locked until commit.
  members.sort((one, other) => (one.accountId < other.accountId ? -1 : 1))
  for (const { accountId, role, isGiven } of members) {
    if (!isGiven || !APPROVER_ROLES.some(name => name === role)) continue
    await keepApprovalInForce(tx, accountId)
    await mailNewApprover(tx, accountId, { userId, role })
  }
  return members
}

/** The only statement that adds members (docs/decisions/022). It demands the proof itself. */
function insertMembers(tx: Tx, userId: string): Promise<(AddedMember & { isGiven: boolean })[]> {
  return tx.$queryRaw`
    WITH due AS (
      DELETE FROM pending_memberships p USING users u
      WHERE p.user_id = ${userId}::uuid AND u.id = p.user_id AND u.is_email_verified
      RETURNING p.account_id, p.user_id, p.role, p.role_by, p.role_via
    )
    INSERT INTO memberships (account_id, user_id, role, role_by, role_via, role_at)
    SELECT account_id, user_id, role, role_by, role_via,
      CASE WHEN role_by IS NOT NULL THEN now() END
    FROM due ON CONFLICT (account_id, user_id) DO NOTHING
    RETURNING account_id AS "accountId", role, role_by IS NOT NULL AS "isGiven"`
}
