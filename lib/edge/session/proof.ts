import { env } from '#lib/base/env.ts'
import { refuse } from '#lib/base/errors.ts'
import type { Mode } from '#lib/base/mode.ts'
import type { SessionUser } from '#lib/edge/session/schema.ts'

/** What somebody proved goes for this long; then a weighty deed asks again. */
export const PROOF_SECONDS = 300

/** In the test world of a local demo nobody is asked: there is nothing to lose. */
function asksForProof(mode: Mode | null): boolean {
  return mode === 'live' || env().PUBLIC_URL.startsWith('https:')
}

/** Refuses a weighty deed of somebody who might have walked away from their screen. */
export function requireProof(user: Pick<SessionUser, 'provedAgoS'>, mode: Mode | null): void {
  if (!asksForProof(mode) || user.provedAgoS <= PROOF_SECONDS) return
  throw refuse('proof_required')
}
