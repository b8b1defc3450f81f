import { recordAudit } from '#lib/base/audit/record.ts'
import type { Tx } from '#lib/base/db/client.ts'
import { closeChallengesOf } from '#lib/services/people/challenge.ts'
import { endSessionsOf } from '#lib/services/people/sessions.ts'

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

/** Removes whatever signs in as this user: someone who never proved the address may have set it. */
export async function removeCredentials(tx: Tx, userId: string): Promise<void> {
  const data = { passwordHash: null, passwordChangedAt: new Date() }
  await tx.user.update({ where: { id: userId }, data })
  await tx.authenticator.deleteMany({ where: { userId } })
  await tx.passkey.deleteMany({ where: { userId } })
  await tx.recoveryCode.deleteMany({ where: { userId } })
  await endSessionsOf(tx, userId)
  await closeChallengesOf(tx, userId)
}
