import { refuse } from '#lib/core/errors.ts'
import type { Mode } from '#lib/core/mode.ts'
import { env } from '#lib/core/settings.ts'
import type { SessionUser } from '#lib/session/schema.ts'

/** Requires a proof not older than PROOF_SECONDS from users, or says why not; never from tokens. */
export type ProofRule = 'required' | { notRequired: string }

/** Validity of a proof of identity. Afterwards, a sensitive action requires a new proof. */
export const PROOF_SECONDS = 300

/** Returns false for test mode in a local demo, where no money is at stake. */
function isProofRequired(mode: Mode | null): boolean {
  return mode === 'live' || env().PUBLIC_URL.startsWith('https:')
}

/** Requires a recent proof of identity: the user may have left an unlocked screen. */
export function requireProof(user: Pick<SessionUser, 'provedAgoS'>, mode: Mode | null): void {
  if (!isProofRequired(mode) || user.provedAgoS <= PROOF_SECONDS) return
  throw refuse('proof_required')
}
