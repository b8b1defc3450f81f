import { recordAudit } from '#lib/audit/record.ts'
import type { Tx } from '#lib/db/client.ts'
import { closeChallengesOf } from '#lib/people/challenge.ts'
import { endSessionsOf } from '#lib/people/sessions.ts'

/** How an address was proven. `operator`: by a link of the command line. */
export type EmailProof = 'sign_up' | 'invitation' | 'reset' | 'link' | 'openid' | 'operator'

/** Turns the user's pending memberships into memberships, in the transaction of the proof. */
export type AdmitPending = (tx: Tx, userId: string) => Promise<void>

/** Returns the columns of a user whose address is proven. */
export function verifiedColumns(by: EmailProof) {
  return { emailVerifiedAt: new Date(), emailVerifiedBy: by, isEmailVerified: true }
}

/** Stores the first proof. Returns false if the address was proven before. */
export async function proveEmail(
  tx: Tx,
  userId: string,
  by: EmailProof,
  admitPending: AdmitPending,
): Promise<boolean> {
  const where = { id: userId, isEmailVerified: false }
  const { count } = await tx.user.updateMany({ where, data: verifiedColumns(by) })
  if (count === 0) return false
  const entry = { action: 'user.email_verified', target: userId, after: { by } }
  await recordAudit(tx, { actor: { type: 'user', id: userId }, ...entry })
  await admitPending(tx, userId)
  return true
}

/**
 * Stores a proof that comes with no session of the user. The first one removes every credential,
 * because a stranger may have registered the address. Only the operator registers admins, with a
 * password that only the operator knows: no credential of theirs is a stranger's, all remain.
 */
export async function proveFromOutside(
  tx: Tx,
  userId: string,
  by: EmailProof,
  admitPending: AdmitPending,
): Promise<boolean> {
  if (!(await proveEmail(tx, userId, by, admitPending))) return false
  const { isAdmin } = await tx.user.findUniqueOrThrow({ where: { id: userId } })
  if (!isAdmin) await removeCredentials(tx, userId)
  return true
}

async function removeCredentials(tx: Tx, userId: string): Promise<void> {
  const data = { passwordHash: null, passwordChangedAt: new Date() }
  await tx.user.update({ where: { id: userId }, data })
  await tx.authenticator.deleteMany({ where: { userId } })
  await tx.passkey.deleteMany({ where: { userId } })
  await tx.recoveryCode.deleteMany({ where: { userId } })
  await endSessionsOf(tx, userId)
  await closeChallengesOf(tx, userId)
}
