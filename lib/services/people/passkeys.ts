import { isIP } from 'node:net'
import type { VerifiedRegistrationResponse } from '@simplewebauthn/server'
import { db } from '#lib/base/db/client.ts'
import { databaseFault, invalidInput, refuse } from '#lib/base/errors.ts'
import { newId } from '#lib/base/ids.ts'
import { openChallenge, tryChallenge } from '#lib/services/people/challenge.ts'
import { changeFactor, type FactorOwner } from '#lib/services/people/factors.ts'
import type { NewPasskey, PasskeyProof } from '#lib/services/people/schema.ts'

const ANSWER_WITHIN_MS = 300_000
const PASSKEYS_MAX = 20

/** Stored value of a passkey challenge: the bytes to sign, and the origin of the page. */
interface Asked {
  challenge: string
  origin: string
}

/** Opens the registration of a discoverable passkey, one that signs in without an e-mail. */
export async function beginPasskey({ id, email, name }: FactorOwner, origin: string) {
  const known = await listCredentials(id)
  if (known.length >= PASSKEYS_MAX) {
    throw refuse(
      'limit_reached',
      `The limit of ${PASSKEYS_MAX} passkeys is reached: remove one first`,
    )
  }
  const { generateRegistrationOptions } = await webauthn()
  const options = await generateRegistrationOptions({
    rpName: 'Troco',
    rpID: hostOf(origin),
    userID: new Uint8Array(Buffer.from(id)),
    userName: email,
    userDisplayName: name,
    timeout: ANSWER_WITHIN_MS,
    excludeCredentials: known,
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
  const value = JSON.stringify({ challenge: options.challenge, origin } satisfies Asked)
  return { challenge: await openChallenge('new_passkey', { userId: id, value }), options }
}

/** Stores a new passkey. Returns new recovery codes, or null if some exist. */
export async function addPasskey(owner: FactorOwner, { name, challenge, passkey }: NewPasskey) {
  const asked = await tryChallenge('new_passkey', challenge)
  const made = asked?.userId === owner.id ? await judgeNew(asked.value, passkey) : null
  if (!made?.registrationInfo) throw invalidInput('passkey', 'could not be verified: start again')
  const { id: credentialId, publicKey, counter } = made.registrationInfo.credential
  const key = { credentialId, publicKey: new Uint8Array(publicKey), counter }
  const transports = passkey.response.transports ?? []
  const data = { id: newId(), userId: owner.id, name, transports, ...key }
  const change = { action: 'user.passkey_added', mail: 'passkeyAdded', target: data.id } as const
  return changeFactor(owner, change, tx => tx.passkey.create({ data })).catch(error => {
    const isTaken = databaseFault(error).constraint === 'passkeys_credential_id_key'
    throw isTaken ? invalidInput('passkey', 'is already registered') : error
  })
}

export async function removePasskey(owner: FactorOwner, id: string): Promise<void> {
  const change = { action: 'user.passkey_removed', mail: 'passkeyRemoved', target: id } as const
  await changeFactor(owner, change, async tx => {
    const { count } = await tx.passkey.deleteMany({ where: { id, userId: owner.id } })
    if (count === 0) throw refuse('factor_not_found', { factor: 'Passkey' })
  })
}

/** Opens a passkey sign-in: for one user, or for the owner of any passkey if `userId` is null. */
export async function askPasskey(origin: string, userId: string | null) {
  const { generateAuthenticationOptions } = await webauthn()
  const options = await generateAuthenticationOptions({
    rpID: hostOf(origin),
    allowCredentials: userId === null ? undefined : await listCredentials(userId),
    userVerification: 'required',
    timeout: ANSWER_WITHIN_MS,
  })
  const value = JSON.stringify({ challenge: options.challenge, origin } satisfies Asked)
  return { challenge: await openChallenge('passkey', { userId, value }), options }
}

/**
 * Returns the id of the user whose passkey signed the challenge; null if unknown or invalid. The
 * device verified its owner (fingerprint or PIN), so a passkey counts as both factors.
 */
export async function findByPasskey(proof: PasskeyProof): Promise<string | null> {
  const asked = await tryChallenge('passkey', proof.challenge)
  const credentialId = proof.passkey.id
  const key = asked && (await db().passkey.findUnique({ where: { credentialId } }))
  if (!key || (asked.userId !== null && asked.userId !== key.userId)) return null
  const { challenge, origin } = JSON.parse(asked.value ?? '') as Asked
  const { verifyAuthenticationResponse } = await webauthn()
  const judged = await verifyAuthenticationResponse({
    response: proof.passkey,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: hostOf(origin),
    requireUserVerification: true,
    credential: { id: credentialId, publicKey: key.publicKey, counter: Number(key.counter) },
  }).catch(() => null)
  if (!judged?.verified) return null
  const counter = judged.authenticationInfo.newCounter
  // Many devices always report 0. On others, a counter that does not increase reveals a copy.
  const used = await db().$executeRaw`
    UPDATE passkeys SET counter = ${counter}, last_used_at = now()
    WHERE id = ${key.id}::uuid AND (counter < ${counter} OR (counter = 0 AND ${counter} = 0))`
  return used === 1 ? key.userId : null
}

async function judgeNew(
  value: string | null,
  passkey: NewPasskey['passkey'],
): Promise<VerifiedRegistrationResponse | null> {
  const { challenge, origin } = JSON.parse(value ?? '') as Asked
  const { verifyRegistrationResponse } = await webauthn()
  return verifyRegistrationResponse({
    response: passkey,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: hostOf(origin),
    requireUserVerification: true,
  }).catch(() => null)
}

async function listCredentials(userId: string) {
  const select = { credentialId: true, transports: true }
  const known = await db().passkey.findMany({ where: { userId }, select })
  return known.map(({ credentialId, transports }) => ({ id: credentialId, transports }))
}

/** Returns the host that passkeys are bound to. WebAuthn allows no IP address. */
function hostOf(origin: string): string {
  const { hostname } = new URL(origin)
  if (!isIP(hostname.replace(/^\[|\]$/g, ''))) return hostname
  throw invalidInput('passkey', 'requires a server address with a host name, not an IP address')
}

/** Loads the library on first use: it takes a third of a second. */
function webauthn() {
  return import('@simplewebauthn/server')
}
