import { recordAudit } from '#lib/audit/record.ts'
import { refuse } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import { type Tx, transaction } from '#lib/db/client.ts'
import { queueMail, queueMailToRoles } from '#lib/mail/queue.ts'
import {
  APPROVER_ROLES,
  inForceSql,
  settlingSql,
  vouchedRows,
  vouchersSql,
} from '#lib/people/approvers.ts'
import { type AnyPermission, hasPermission, type Role } from '#lib/people/roles.ts'
import { endSessionsOf } from '#lib/people/sessions.ts'

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
    await keepApprovalActive(tx, accountId)
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

/**
 * Keeps an active rule for as long as a new role needs to count. For each change of who may
 * approve, in its transaction: a role that is taken and given again then leaves no gap.
 */
async function keepApprovalActive(tx: Tx, accountId: string): Promise<void> {
  await tx.$executeRaw`
    UPDATE accounts a
    SET approval_kept_until = GREATEST(a.approval_kept_until, now() + ${settlingSql})
    WHERE a.id = ${accountId}::uuid AND ${inForceSql}`
}

/** Informs the members who may approve withdrawals about another one; does nothing for other roles. */
async function mailNewApprover(
  tx: Tx,
  accountId: string,
  { userId, role }: { userId: string; role: string },
): Promise<void> {
  if (!APPROVER_ROLES.some(name => name === role)) return
  const { email: member } = await tx.user.findUniqueOrThrow({ where: { id: userId } })
  await queueMailToRoles(tx, accountId, APPROVER_ROLES, account => ({
    kind: 'approverAdded',
    account,
    member,
  }))
}

/**
 * Ends the member's sessions, because open pages still show data that only the old role may see.
 * Refuses to change the last owner. `settleTokens` runs in the transaction, after the change.
 */
export function assignRole(
  { accountId, userId, role }: { accountId: string; userId: string; role: Role },
  actor: { type: 'user'; id: string },
  settleTokens: (tx: Tx) => Promise<void>,
): Promise<void> {
  return transaction(async tx => {
    const account = await lockMembers(tx, accountId)
    await requireMemberPermission(tx, { accountId, userId: actor.id }, 'members:write')
    const key = { accountId_userId: { accountId, userId } }
    const member = isUuid(userId)
      ? await tx.membership.findUnique({ where: key, include: { user: true } })
      : null
    if (!member) throw refuse('member_not_found')
    if (member.role === role) return
    if (member.role === 'owner') {
      await requireOtherOwner(tx, accountId, userId)
      await revokeInvitationsOf(tx, accountId, userId)
    }
    if (isApprover(member.role) !== isApprover(role)) await recordGiver(tx, member, actor.id)
    await tx.membership.update({ where: key, data: { role } })
    await settleTokens(tx)
    await endSessionsOf(tx, userId)
    await mailNewApprover(tx, accountId, { userId, role })
    const change = { before: { role: member.role }, after: { role } }
    const action = 'member.role_changed'
    await recordAudit(tx, { actor, action, accountId, target: userId, ...change })
    await queueMail(tx, member.user, { kind: 'roleChanged', account, role })
  })
}

const isApprover = (role: string) => hasPermission(role as Role, 'withdrawals:approve')

/** Records who gave or took a role that may approve withdrawals; the rule stays active meanwhile. */
async function recordGiver(
  tx: Tx,
  { accountId, userId }: { accountId: string; userId: string },
  actorId: string,
): Promise<void> {
  await keepApprovalActive(tx, accountId)
  const { root, via } = await findVouchers(tx, { accountId, giver: actorId, userId })
  await tx.$executeRaw`
    UPDATE memberships SET role_at = now(), role_by = ${root}::uuid, role_via = ${via}::uuid[]
    WHERE account_id = ${accountId}::uuid AND user_id = ${userId}::uuid`
}

type UserActor = { type: 'user'; id: string }

/** Ends the member's sessions at once. `settleTokens` runs after that, in the transaction. */
export function removeMember(
  { accountId, userId }: { accountId: string; userId: string },
  actor: UserActor,
  settleTokens: (tx: Tx) => Promise<void>,
): Promise<void> {
  return transaction(async tx => {
    const account = await lockMembers(tx, accountId)
    await requireMemberPermission(tx, { accountId, userId: actor.id }, 'members:write')
    const { user, role } = await removeMembership(tx, accountId, userId)
    await settleTokens(tx)
    await endSessionsOf(tx, userId)
    const entry = { actor, accountId, target: userId, before: { role } }
    await recordAudit(tx, { action: 'member.removed', ...entry })
    await queueMail(tx, user, { kind: 'memberRemoved', account })
  })
}

/**
 * Removes the acting member. Their sessions continue, since they may belong to other accounts.
 * `endTokens` runs after that, in the transaction.
 */
export function leaveAccount(
  accountId: string,
  actor: UserActor,
  endTokens: (tx: Tx) => Promise<void>,
): Promise<void> {
  return transaction(async tx => {
    await lockMembers(tx, accountId)
    const { role } = await removeMembership(tx, accountId, actor.id)
    await endTokens(tx)
    const entry = { actor, accountId, target: actor.id, before: { role } }
    await recordAudit(tx, { action: 'member.left', ...entry })
  })
}

/** Deletes a membership. Refuses for the last owner; revokes an owner's open invitations. */
async function removeMembership(tx: Tx, accountId: string, userId: string) {
  const key = { accountId_userId: { accountId, userId } }
  const member = isUuid(userId)
    ? await tx.membership.findUnique({ where: key, include: { user: true } })
    : null
  if (!member) throw refuse('member_not_found')
  if (hasPermission(member.role as Role, 'withdrawals:approve'))
    await keepApprovalActive(tx, accountId)
  if (member.role === 'owner') {
    await requireOtherOwner(tx, accountId, userId)
    await revokeInvitationsOf(tx, accountId, userId)
  }
  await recordVouchers(tx, accountId, userId)
  await tx.membership.delete({ where: key })
  return member
}

/** Records who answers for the member: approvals of what their tokens request depend on it. */
async function recordVouchers(tx: Tx, accountId: string, userId: string): Promise<void> {
  const vouchers = (await readVouchers(tx, accountId, [userId])).get(userId)
  await tx.$executeRaw`
    INSERT INTO former_members (account_id, user_id, vouchers)
    VALUES (${accountId}::uuid, ${userId}::uuid, ${vouchers}::uuid[])
    ON CONFLICT (account_id, user_id) DO UPDATE SET vouchers = EXCLUDED.vouchers, left_at = now()`
}

/** Locks the members, so that the count of owners stays correct. Returns the account's name. */
export async function lockMembers(tx: Tx, accountId: string): Promise<string> {
  const [account] = await tx.$queryRaw<{ name: string }[]>`
    SELECT name FROM accounts WHERE id = ${accountId}::uuid FOR NO KEY UPDATE`
  if (!account) throw new Invariant(`account ${accountId} has members but is missing`)
  return account.name
}

/** Returns the account's status and keeps it until commit. */
export async function lockStatus(tx: Tx, accountId: string): Promise<string | undefined> {
  const [account] = await tx.$queryRaw<{ status: string }[]>`
    SELECT status FROM accounts WHERE id = ${accountId}::uuid FOR SHARE`
  return account?.status
}

/** Checks the permission again under the lock: the member may have lost the role meanwhile. */
export async function requireMemberPermission(
  tx: Tx,
  { accountId, userId }: { accountId: string; userId: string },
  permission: AnyPermission,
): Promise<void> {
  const where = { accountId_userId: { accountId, userId } }
  const member = await tx.membership.findUnique({ where, select: { role: true } })
  if (member && hasPermission(member.role as Role, permission)) return
  throw refuse('permission_denied', { permission })
}

/** Refuses unless another owner can sign in: only owners can invite members. */
async function requireOtherOwner(tx: Tx, accountId: string, userId: string): Promise<void> {
  const where = { accountId, role: 'owner', userId: { not: userId }, user: { disabledAt: null } }
  if ((await tx.membership.count({ where })) > 0) return
  throw refuse('last_owner')
}

/** Revokes the open invitations of a former owner, who may no longer invite anyone. */
async function revokeInvitationsOf(tx: Tx, accountId: string, userId: string): Promise<number> {
  const { count } = await tx.invitation.updateMany({
    where: { accountId, invitedBy: userId, acceptedAt: null, revokedAt: null },
    data: { revokedAt: new Date() },
  })
  return count
}

/** Returns by user the ids of everyone who answers for them now. */
export async function readVouchers(
  tx: Tx,
  accountId: string,
  userIds: readonly string[],
): Promise<Map<string, string[]>> {
  const rows = await tx.$queryRaw<{ id: string; ids: string[] }[]>`
    SELECT m.id, ${vouchersSql} AS ids FROM accounts a CROSS JOIN LATERAL ${vouchedRows(userIds)}
    WHERE a.id = ${accountId}::uuid`
  return new Map(rows.map(({ id, ids }) => [id, ids]))
}

/** Users who answer for a member with a new role: `via` lists them, `root` is the one they count as. */
interface Vouchers {
  root: string
  via: string[]
}

/** Returns who answers for `userId` if `giver` gives them a role now, and who did so until now. */
export async function findVouchers(
  tx: Tx,
  { accountId, giver, userId }: { accountId: string; giver: string; userId: string },
): Promise<Vouchers> {
  const vouchers = await readVouchers(tx, accountId, [giver, userId])
  const [ofGiver, ofUser] = [vouchers.get(giver) ?? [giver], vouchers.get(userId) ?? []]
  return { root: ofGiver[1] ?? giver, via: [...new Set([...ofGiver, ...ofUser])] }
}

interface Member {
  accountId: string
  userId: string
}

/**
 * Returns a function that locks the member until commit, or fails with TR401 if the user no longer
 * has the role (prisma/functions/troco_refuse_caller.sql). The first statement of a transaction: a
 * concurrent removal or change of the role takes effect before what follows or after it.
 */
export function memberLock({ accountId, userId }: Member, role: Role): (tx: Tx) => Promise<void> {
  return async tx => {
    await tx.$queryRaw`
      SELECT COALESCE((
        SELECT m.account_id FROM memberships m
        WHERE m.account_id = ${accountId}::uuid AND m.user_id = ${userId}::uuid AND m.role = ${role}
        FOR SHARE), troco_refuse_caller())`
  }
}

/**
 * Returns a function that checks the permission again in the transaction, and locks the member until
 * commit. It returns whether the present role may read payers' documents.
 */
export function permissionLock(
  { accountId, userId }: { accountId: string; userId: string | null },
  permission: AnyPermission,
): (tx: Tx) => Promise<{ readsPayers: boolean }> {
  return async tx => {
    const [member] = await tx.$queryRaw<{ role: Role }[]>`
      SELECT m.role FROM memberships m
      WHERE m.account_id = ${accountId}::uuid AND m.user_id = ${userId}::uuid FOR SHARE`
    if (!member || !hasPermission(member.role, permission))
      throw refuse('permission_denied', { permission })
    return { readsPayers: hasPermission(member.role, 'payers:read') }
  }
}
