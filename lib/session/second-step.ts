import { db } from '#lib/db/client.ts'
import {
  attemptChallenge,
  closeChallenge,
  openChallenge,
  readChallenge,
} from '#lib/people/challenge.ts'
import { completeSignIn } from '#lib/people/complete-sign-in.ts'
import { countFactorAttempt, endFactorSpell, mailWrongCodes } from '#lib/people/factor-attempts.ts'
import { listFactors } from '#lib/people/factors.ts'
import { findKnownDevice } from '#lib/people/known-device.ts'
import { findByPasskey } from '#lib/people/passkeys.ts'
import { type Factor, type PasskeyProof, passkeyProof } from '#lib/people/schema.ts'
import { consumeCode } from '#lib/people/second-factor.ts'
import { requireWithinLimit, type ScopedKey, uncountAttempt } from '#lib/people/throttle.ts'
import {
  type AuthenticatedUser,
  authenticateByPassword,
  type SignInCaller,
  toSignInError,
} from '#lib/session/authenticate.ts'

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

/** Returns null while a required factor is missing: `details` has the pending step or refusal. */
export async function signIn(
  credentials: SignInCredentials,
  address: string | null,
  details: SignInDetails,
  marks = '',
): Promise<AuthenticatedUser | null> {
  try {
    const identified = await identifyUser(credentials, { address, marks }, details)
    return identified && (await completeSignIn(identified.userId, identified.by))
  } catch (error) {
    throw toSignInError(error)
  }
}

async function identifyUser(
  credentials: SignInCredentials,
  caller: SignInCaller,
  details: SignInDetails,
) {
  const { email = '', password = '', challenge = '', code, passkey } = credentials
  if (passkey === undefined && code === undefined) {
    const person = await authenticateByPassword({ ...caller, email }, password)
    details.step = person && (await openSecondFactorChallenge(person.id))
    return person && !details.step ? { userId: person.id, by: 'password' as const } : null
  }
  const keys = addressKeys(caller.address)
  if (passkey !== undefined) {
    const userId = await verifyPasskey(challenge, passkey)
    if (userId) return { userId, by: 'passkey' as const }
    // Only failures count: a passkey cannot be guessed, and attempts of others must not lock it.
    await requireWithinLimit(keys)
    details.refusal = 'challenge_ended'
    return null
  }
  const pending = await readChallenge('second_factor', challenge)
  const device = await findDevice(pending?.userId ?? null, caller.marks ?? '')
  if (!device) await requireWithinLimit(keys)
  const identified = await verifyCode({ challenge, code: code ?? '', device }, details)
  if (identified && !device) await uncountAttempt(keys)
  return identified
}

async function findDevice(userId: string | null, marks: string): Promise<string | null> {
  const user = userId && marks && (await db().user.findUnique({ where: { id: userId } }))
  return user ? findKnownDevice(user, marks) : null
}

/** Opens a challenge for the second factor, after any first factor; null if the user has none. */
export async function openSecondFactorChallenge(userId: string): Promise<SecondStep | null> {
  const methods = await listFactors(userId)
  if (methods.length === 0) return null
  return { challenge: await openChallenge('second_factor', { userId }), methods }
}

interface CodeAttempt {
  challenge: string
  code: string
  device: string | null
}

async function verifyCode({ challenge, code, device }: CodeAttempt, details: SignInDetails) {
  // Waits are checked first: an attempt during a delay uses up none of the challenge's attempts.
  const { userId } = (await readChallenge('second_factor', challenge)) ?? {}
  const attempt = userId ? { userId, challenge, device } : null
  const nth = attempt && (await countFactorAttempt(attempt))
  if (attempt && nth !== null && (await attemptChallenge('second_factor', challenge))) {
    const by = await consumeCode(attempt.userId, code)
    if (by && (await closeChallenge(challenge))) {
      await endFactorSpell(attempt)
      return { userId: attempt.userId, by }
    }
    if (!by) await mailWrongCodes(attempt.userId, nth)
    const isChallengeOpen = !by && (await readChallenge('second_factor', challenge))
    details.refusal = isChallengeOpen ? 'wrong_code' : 'challenge_ended'
    return null
  }
  details.refusal = 'challenge_ended'
  return null
}

async function verifyPasskey(challenge: string, passkey: string): Promise<string | null> {
  const proof = parsePasskeyProof(challenge, passkey)
  return proof && findByPasskey(proof)
}

function parsePasskeyProof(challenge: string, passkey: string): PasskeyProof | null {
  try {
    return passkeyProof.parse({ challenge, passkey: JSON.parse(passkey) })
  } catch {
    return null
  }
}

function addressKeys(address: string | null): ScopedKey[] {
  return address === null ? [] : [['address', address]]
}
