import { db } from '#lib/base/db/client.ts'
import { invalidInput } from '#lib/base/errors.ts'
import { listFactors } from '#lib/services/people/factors.ts'
import { findByPasskey } from '#lib/services/people/passkeys.ts'
import { isPassword } from '#lib/services/people/password.ts'
import type { FactorAnswer, ProofMethod, ProofRequest } from '#lib/services/people/schema.ts'
import { takeCode } from '#lib/services/people/second-factor.ts'
import { renewProof } from '#lib/services/people/sessions.ts'
import { forgive, requireFew } from '#lib/services/people/throttle.ts'

interface Prover {
  id: string
  email: string
  sessionId: string
}

/** Returns how a signed-in user can confirm their identity; empty: only by a new sign-in. */
export async function listProofMethods(userId: string): Promise<ProofMethod[]> {
  const factors = await listFactors(userId)
  if (factors.length > 0) return factors
  const { passwordHash } = await db().user.findUniqueOrThrow({ where: { id: userId } })
  return passwordHash === null ? [] : ['password']
}

/** Confirms the identity of a signed-in user by password, or by second factor if they have one. */
export async function prove(user: Prover, answer: ProofRequest): Promise<void> {
  if (answer.password === undefined) return proveByFactor(user, answer)
  if ((await listFactors(user.id)).length > 0) {
    throw invalidInput('password', 'is not sufficient: use the second factor')
  }
  // Counted by user id, not by e-mail: failed sign-ins by others must not block this user.
  await requireFew([['person', user.id]])
  const { passwordHash } = await db().user.findUniqueOrThrow({ where: { id: user.id } })
  if (!(await isPassword(answer.password, passwordHash))) {
    throw invalidInput('password', 'is not correct: enter it again')
  }
  await forgive([['person', user.id]])
  await renewProof(user.sessionId)
}

/** Confirms the identity of a signed-in user by a second factor only. */
export async function proveByFactor(user: Prover, answer: FactorAnswer): Promise<void> {
  const { code, challenge, passkey } = answer
  if (code !== undefined) {
    await requireFew([['second_factor', user.id]])
    if ((await takeCode(user.id, code)) === null) {
      throw invalidInput('code', 'does not match or was already used: enter the current code')
    }
    await forgive([['second_factor', user.id]])
  } else if (challenge === undefined || passkey === undefined) {
    throw invalidInput('code', 'is required')
  } else if ((await findByPasskey({ challenge, passkey })) !== user.id) {
    throw invalidInput('passkey', 'does not belong to this user: try again')
  }
  await renewProof(user.sessionId)
}
