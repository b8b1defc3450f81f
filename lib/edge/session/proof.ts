import { env } from '#lib/base/env.ts'
import { refuse } from '#lib/base/errors.ts'
import type { Mode } from '#lib/base/mode.ts'
import type { SessionUser } from '#lib/edge/session/schema.ts'

/** Validity of a proof of identity; after it, a sensitive action asks for another. */
export const PROOF_SECONDS = 300

/** In a local demo's test mode no proof is required: no money is at stake. */
function isProofRequired(mode: Mode | null): boolean {
  return mode === 'live' || env().PUBLIC_URL.startsWith('https:')
}

/** Requires a recent proof of identity: the user may have left an unlocked screen. */
export function requireProof(user: Pick<SessionUser, 'provedAgoS'>, mode: Mode | null): void {
  if (!isProofRequired(mode) || user.provedAgoS <= PROOF_SECONDS) return
  throw refuse('proof_required')
}
