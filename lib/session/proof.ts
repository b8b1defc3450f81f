import { invalidInput, refuse } from '#lib/core/errors.ts'
import type { Mode } from '#lib/core/mode.ts'
import { env } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { consumeCode, listFactors } from '#lib/people/factors.ts'
import { findByPasskey } from '#lib/people/passkeys.ts'
import { knownCaller, verifyPassword } from '#lib/people/password.ts'
import type { FactorProof, ProofMethod, ProofRequest } from '#lib/people/schema.ts'
import { recordProof } from '#lib/people/sessions.ts'
import { requireWithinLimit, uncountAttempt } from '#lib/people/throttle.ts'
import type { SessionUser } from '#lib/session/schema.ts'

/** Requires a proof not older than PROOF_SECONDS from users, or says why not; never from tokens. */
export type ProofRule = 'required' | { notRequired: string }

/** Validity of a proof of identity. Afterwards, a sensitive action requires a new proof. */
const PROOF_SECONDS = 300

/** Returns false for test mode in a local demo, where no money is at stake. */
function isProofRequired(mode: Mode | null): boolean {
  return mode === 'live' || env().PUBLIC_URL.startsWith('https:')
}

/** Requires a recent proof of identity: the user may have left an unlocked screen. */
export function requireProof(user: Pick<SessionUser, 'provedAgoS'>, mode: Mode | null): void {
  if (!isProofRequired(mode) || user.provedAgoS <= PROOF_SECONDS) return
  throw refuse('proof_required')
}

interface SignedInUser {
  id: string
  email: string
  sessionId: string
}

/** Returns how a user can confirm their identity. Empty: only a new sign-in is possible. */
export async function listProofMethods(userId: string): Promise<ProofMethod[]> {
  const factors = await listFactors(userId)
  if (factors.length > 0) return factors
  const { passwordHash } = await db().user.findUniqueOrThrow({ where: { id: userId } })
  return passwordHash === null ? [] : ['password']
}

/** Confirms the identity of a signed-in user by password, or by second factor if they have one. */
export async function verifyProof(user: SignedInUser, proof: ProofRequest): Promise<void> {
  if (proof.password === undefined) return verifyFactorProof(user, proof)
  if ((await listFactors(user.id)).length > 0) {
    throw invalidInput('password', 'is not sufficient: use the second factor')
  }
  // Counted by user id, not by e-mail: failed sign-ins by others must not block this user.
  await requireWithinLimit([['person', user.id]])
  const { passwordHash } = await db().user.findUniqueOrThrow({ where: { id: user.id } })
  if (!(await verifyPassword(proof.password, passwordHash, knownCaller(user.id)))) {
    throw invalidInput('password', 'is not correct: enter it again')
  }
  await uncountAttempt([['person', user.id]])
  await recordProof(user.sessionId)
}

export async function verifyFactorProof(user: SignedInUser, proof: FactorProof): Promise<void> {
  const { code, challenge, passkey } = proof
  if (code !== undefined) {
    await requireWithinLimit([['second_factor', user.id]])
    if ((await consumeCode(user.id, code)) === null) {
      throw invalidInput('code', 'does not match or was already used: enter the current code')
    }
    await uncountAttempt([['second_factor', user.id]])
  } else if (challenge === undefined || passkey === undefined) {
    throw invalidInput('code', 'is required')
  } else if ((await findByPasskey({ challenge, passkey })) !== user.id) {
    throw invalidInput('passkey', 'does not belong to this user: try again')
  }
  await recordProof(user.sessionId)
}
