import { isIP } from 'node:net'
import type { VerifiedRegistrationResponse } from '@simplewebauthn/server'
import { hostnameOf } from '#lib/core/addresses.ts'
import { invalidInput, parseDatabaseError, refuse } from '#lib/core/errors.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import {
  attemptChallenge,
  changeFactor,
  type FactorOwner,
  openChallenge,
} from '#lib/people/factors.ts'
import type { NewPasskey, PasskeyProof } from '#lib/people/schema.ts'

const RESPONSE_TIMEOUT_MS = 300_000
const PASSKEYS_MAX = 20

interface StoredChallenge {
  challenge: string
  origin: string
}

/** Opens the registration of a discoverable passkey, which can sign in without an e-mail. */
export async function beginPasskeyRegistration({ id, email, name }: FactorOwner, origin: string) {
  const existing = await listCredentials(id)
  if (existing.length >= PASSKEYS_MAX) {
    throw refuse(
      'limit_reached',
      `The limit of ${PASSKEYS_MAX} passkeys is reached: remove one first`,
    )
  }
  const { generateRegistrationOptions } = await loadWebauthn()
  const options = await generateRegistrationOptions({
    rpName: 'Troco',
    rpID: relyingPartyId(origin),
    userID: new Uint8Array(Buffer.from(id)),
    userName: email,
    userDisplayName: name,
    timeout: RESPONSE_TIMEOUT_MS,
    excludeCredentials: existing,
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
  const value = JSON.stringify({ challenge: options.challenge, origin } satisfies StoredChallenge)
  return { challenge: await openChallenge('new_passkey', { userId: id, value }), options }
}

/** Stores a new passkey. Returns new recovery codes; null if the user has some. */
export async function addPasskey(owner: FactorOwner, { name, challenge, passkey }: NewPasskey) {
  const stored = await attemptChallenge('new_passkey', challenge)
  const registration =
    stored?.userId === owner.id ? await verifyRegistration(stored.value, passkey) : null
  if (!registration?.registrationInfo)
    throw invalidInput('passkey', 'could not be verified: start again')
  const { id: credentialId, publicKey, counter } = registration.registrationInfo.credential
  const key = { credentialId, publicKey: new Uint8Array(publicKey), counter }
  const transports = passkey.response.transports ?? []
  const data = { id: newId(), userId: owner.id, name, transports, ...key }
  const change = { action: 'user.passkey_added', mail: 'passkeyAdded', target: data.id } as const
  return changeFactor(owner, change, tx => tx.passkey.create({ data })).catch(error => {
    const isTaken = parseDatabaseError(error).constraint === 'passkeys_credential_id_key'
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
export async function beginPasskeyAuthentication(origin: string, userId: string | null) {
  const { generateAuthenticationOptions } = await loadWebauthn()
  const options = await generateAuthenticationOptions({
    rpID: relyingPartyId(origin),
    allowCredentials: userId === null ? undefined : await listCredentials(userId),
    userVerification: 'required',
    timeout: RESPONSE_TIMEOUT_MS,
  })
  const value = JSON.stringify({ challenge: options.challenge, origin } satisfies StoredChallenge)
  return { challenge: await openChallenge('passkey', { userId, value }), options }
}

/** Returns null if invalid. The device checks finger or PIN: a passkey counts as both factors. */
export async function findByPasskey(proof: PasskeyProof): Promise<string | null> {
  const stored = await attemptChallenge('passkey', proof.challenge)
  const credentialId = proof.passkey.id
  const key = stored && (await db().passkey.findUnique({ where: { credentialId } }))
  if (!key || (stored.userId !== null && stored.userId !== key.userId)) return null
  const { challenge, origin } = JSON.parse(stored.value ?? '') as StoredChallenge
  const { verifyAuthenticationResponse } = await loadWebauthn()
  const verification = await verifyAuthenticationResponse({
    response: proof.passkey,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: relyingPartyId(origin),
    requireUserVerification: true,
    credential: { id: credentialId, publicKey: key.publicKey, counter: Number(key.counter) },
  }).catch(() => null)
  if (!verification?.verified) return null
  const counter = verification.authenticationInfo.newCounter
  // Many devices always report 0. On others, a counter that does not rise reveals a copied passkey.
  const updated = await db().$executeRaw`
    UPDATE passkeys SET counter = ${counter}, last_used_at = now()
    WHERE id = ${key.id}::uuid AND (counter < ${counter} OR (counter = 0 AND ${counter} = 0))`
  return updated === 1 ? key.userId : null
}

async function verifyRegistration(
  value: string | null,
  passkey: NewPasskey['passkey'],
): Promise<VerifiedRegistrationResponse | null> {
  const { challenge, origin } = JSON.parse(value ?? '') as StoredChallenge
  const { verifyRegistrationResponse } = await loadWebauthn()
  return verifyRegistrationResponse({
    response: passkey,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: relyingPartyId(origin),
    requireUserVerification: true,
  }).catch(() => null)
}

async function listCredentials(userId: string) {
  const select = { credentialId: true, transports: true }
  const passkeys = await db().passkey.findMany({ where: { userId }, select })
  return passkeys.map(({ credentialId, transports }) => ({ id: credentialId, transports }))
}

/** Returns the host that passkeys are bound to. WebAuthn allows no IP address. */
function relyingPartyId(origin: string): string {
  const url = new URL(origin)
  if (!isIP(hostnameOf(url))) return url.hostname
  throw invalidInput('passkey', 'requires a server address with a host name, not an IP address')
}

/** Loads the library on first use, because loading takes a third of a second. */
function loadWebauthn() {
  return import('@simplewebauthn/server')
}
