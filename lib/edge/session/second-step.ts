import {
  type AuthenticatedUser,
  authenticateByPassword,
  THROTTLED,
  toSignInError,
} from '#lib/edge/session/authenticate.ts'
import {
  attemptChallenge,
  closeChallenge,
  openChallenge,
  readChallenge,
} from '#lib/services/people/challenge.ts'
import { completeSignIn } from '#lib/services/people/complete-sign-in.ts'
import { listFactors } from '#lib/services/people/factors.ts'
import { findByPasskey } from '#lib/services/people/passkeys.ts'
import { type Factor, type PasskeyProof, passkeyProof } from '#lib/services/people/schema.ts'
import { consumeCode } from '#lib/services/people/second-factor.ts'
import { countAttempt, uncountAttempt } from '#lib/services/people/throttle.ts'

/** Pending second factor: the secret of its challenge and the factors that the user has. */
export interface SecondStep {
  challenge: string
  methods: Factor[]
}

/** Results that next-auth could return only in a URL, which would be logged. */
export interface SignInDetails {
  step?: SecondStep | null
  refusal?: 'wrong_code' | 'challenge_ended'
}

/** Credentials of a sign-in: a password; then a code or a passkey; or a passkey alone. */
export type SignInCredentials = Partial<
  Record<'email' | 'password' | 'challenge' | 'code' | 'passkey', string>
>

type AttemptKeys = Parameters<typeof countAttempt>[0]

/** Returns null while a required factor is missing: `details` has the pending step or refusal. */
export async function signIn(
  credentials: SignInCredentials,
  address: string | null,
  details: SignInDetails,
): Promise<AuthenticatedUser | null> {
  try {
    const identified = await identifyUser(credentials, address, details)
    return identified && (await completeSignIn(identified.userId, identified.by))
  } catch (error) {
    throw toSignInError(error)
  }
}

async function identifyUser(
  credentials: SignInCredentials,
  address: string | null,
  details: SignInDetails,
) {
  const { email = '', password = '', challenge = '', code, passkey } = credentials
  if (passkey === undefined && code === undefined) {
    const person = await authenticateByPassword({ email, address }, password)
    details.step = person && (await openSecondFactorChallenge(person.id))
    return person && !details.step ? { userId: person.id, by: 'password' as const } : null
  }
  await requireWithinLimit(addressKeys(address))
  const identified =
    passkey === undefined
      ? await verifyCode(challenge, code ?? '', details)
      : await verifyPasskey(challenge, passkey, details)
  if (identified) await uncountAttempt(addressKeys(address))
  return identified
}

/** Opens a challenge for the second factor, after any first factor; null if the user has none. */
export async function openSecondFactorChallenge(userId: string): Promise<SecondStep | null> {
  const methods = await listFactors(userId)
  if (methods.length === 0) return null
  return { challenge: await openChallenge('second_factor', { userId }), methods }
}

async function verifyCode(challenge: string, code: string, details: SignInDetails) {
  const pending = await attemptChallenge('second_factor', challenge)
  const userId = pending?.userId ?? null
  const keys: AttemptKeys = userId === null ? [] : [['second_factor', userId]]
  await requireWithinLimit(keys)
  const by = userId && (await consumeCode(userId, code))
  if (userId && by && (await closeChallenge(challenge))) {
    await uncountAttempt(keys)
    return { userId, by }
  }
  const isChallengeOpen = !by && (await readChallenge('second_factor', challenge))
  details.refusal = isChallengeOpen ? 'wrong_code' : 'challenge_ended'
  return null
}

async function verifyPasskey(challenge: string, passkey: string, details: SignInDetails) {
  const proof = parsePasskeyProof(challenge, passkey)
  const userId = proof && (await findByPasskey(proof))
  if (userId) return { userId, by: 'passkey' as const }
  details.refusal = 'challenge_ended'
  return null
}

function parsePasskeyProof(challenge: string, passkey: string): PasskeyProof | null {
  try {
    return passkeyProof.parse({ challenge, passkey: JSON.parse(passkey) })
  } catch {
    return null
  }
}

function addressKeys(address: string | null): AttemptKeys {
  return address === null ? [] : [['address', address]]
}

async function requireWithinLimit(keys: AttemptKeys): Promise<void> {
  const waitS = await countAttempt(keys)
  if (waitS !== null) throw new Error(THROTTLED + waitS)
}
