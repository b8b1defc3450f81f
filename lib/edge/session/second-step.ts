import { authenticate, explain, type Person, THROTTLED } from '#lib/edge/session/authenticate.ts'
import {
  attemptChallenge,
  closeChallenge,
  openChallenge,
  readChallenge,
} from '#lib/services/people/challenge.ts'
import { listFactors } from '#lib/services/people/factors.ts'
import { completeSignIn } from '#lib/services/people/let-in.ts'
import { findByPasskey } from '#lib/services/people/passkeys.ts'
import { type Factor, type PasskeyProof, passkeyProof } from '#lib/services/people/schema.ts'
import { consumeCode } from '#lib/services/people/second-factor.ts'
import { countAttempt, uncountAttempt } from '#lib/services/people/throttle.ts'

/** Factors still required after the password, and the secret of this challenge. */
export interface SecondStep {
  challenge: string
  methods: Factor[]
}

/** Details for the browser that next-auth cannot carry: not in a URL, because URLs are logged. */
export interface Told {
  step?: SecondStep | null
  refusal?: 'wrong_code' | 'challenge_ended'
}

/** Credentials of a sign-in: a password; then a code or a passkey; or a passkey alone. */
export type Given = Partial<Record<'email' | 'password' | 'challenge' | 'code' | 'passkey', string>>

type Counts = Parameters<typeof countAttempt>[0]

/** Returns the person once all factors are shown. Null: `told` may say what is missing. */
export async function signIn(
  given: Given,
  address: string | null,
  told: Told,
): Promise<Person | null> {
  try {
    const found = await identify(given, address, told)
    return found && (await completeSignIn(found.userId, found.by))
  } catch (error) {
    throw explain(error)
  }
}

async function identify(given: Given, address: string | null, told: Told) {
  const { email = '', password = '', challenge = '', code, passkey } = given
  if (passkey === undefined && code === undefined) {
    const person = await authenticate({ email, address }, password)
    told.step = person && (await askSecondFactor(person.id))
    return person && !told.step ? { userId: person.id, by: 'password' as const } : null
  }
  await requireFew(ofAddress(address))
  const found =
    passkey === undefined
      ? await answerByCode(challenge, code ?? '', told)
      : await answerByPasskey(challenge, passkey, told)
  if (found) await uncountAttempt(ofAddress(address))
  return found
}

/** Opens a challenge for the second factor, after any first factor; null if the user has none. */
export async function askSecondFactor(userId: string): Promise<SecondStep | null> {
  const methods = await listFactors(userId)
  if (methods.length === 0) return null
  return { challenge: await openChallenge('second_factor', { userId }), methods }
}

async function answerByCode(challenge: string, code: string, told: Told) {
  const asked = await attemptChallenge('second_factor', challenge)
  const userId = asked?.userId ?? null
  const counts: Counts = userId === null ? [] : [['second_factor', userId]]
  await requireFew(counts)
  const by = userId && (await consumeCode(userId, code))
  if (userId && by && (await closeChallenge(challenge))) {
    await uncountAttempt(counts)
    return { userId, by }
  }
  const goesOn = !by && (await readChallenge('second_factor', challenge))
  told.refusal = goesOn ? 'wrong_code' : 'challenge_ended'
  return null
}

async function answerByPasskey(challenge: string, passkey: string, told: Told) {
  const proof = readProof(challenge, passkey)
  const userId = proof && (await findByPasskey(proof))
  if (userId) return { userId, by: 'passkey' as const }
  told.refusal = 'challenge_ended'
  return null
}

function readProof(challenge: string, passkey: string): PasskeyProof | null {
  try {
    return passkeyProof.parse({ challenge, passkey: JSON.parse(passkey) })
  } catch {
    return null
  }
}

function ofAddress(address: string | null): Counts {
  return address === null ? [] : [['address', address]]
}

async function requireFew(counts: Counts): Promise<void> {
  const waitS = await countAttempt(counts)
  if (waitS !== null) throw new Error(THROTTLED + waitS)
}
