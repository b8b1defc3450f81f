import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'
import { isoCBOR } from '@simplewebauthn/server/helpers'
import type { NewPasskey, PasskeyProof } from '#lib/people/schema.ts'

interface PasskeyChallenge {
  challenge: string
  options: { challenge: string }
}

/** Differences from a correct device. */
interface Tampering {
  origin?: string
  counter?: number
  isVerified?: boolean
  isForged?: boolean
}

const USER_PRESENT = 1
const USER_VERIFIED = 4
const HAS_ATTESTED_DATA = 64

interface DeviceKey {
  id: Buffer
  privateKey: KeyObject
}

/** Makes a passkey device in software that signs with one key, by default a new key. */
export function makeSoftwareKey(origin: string, { id, privateKey } = newDeviceKey()) {
  const publicKey = createPublicKey(privateKey)
  const credential = { id: id.toString('base64url'), rawId: id.toString('base64url') }
  const common = { ...credential, type: 'public-key' as const, clientExtensionResults: {} }

  function buildAuthenticatorData(tampering: Tampering, extraFlags = 0): Buffer {
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(tampering.counter ?? 0)
    const verified = (tampering.isVerified ?? true) ? USER_VERIFIED : 0
    const flags = Buffer.from([USER_PRESENT | verified | extraFlags])
    return Buffer.concat([sha256(new URL(tampering.origin ?? origin).hostname), flags, counter])
  }

  return {
    id: credential.id,
    register(
      { challenge, options }: PasskeyChallenge,
      tampering: Tampering = {},
    ): Omit<NewPasskey, 'name'> {
      const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
      const cose = isoCBOR.encode(
        new Map<number, number | Uint8Array>([
          [1, 2],
          [3, -7],
          [-1, 1],
          [-2, decode(x)],
          [-3, decode(y)],
        ]),
      )
      const lead = [
        buildAuthenticatorData(tampering, HAS_ATTESTED_DATA),
        Buffer.alloc(16),
        Buffer.from([0, id.length]),
        id,
      ]
      const authData = new Uint8Array(Buffer.concat([...lead, cose]))
      const attestation = new Map<string, unknown>([
        ['fmt', 'none'],
        ['attStmt', new Map()],
        ['authData', authData],
      ])
      const response = {
        clientDataJSON: clientData('webauthn.create', options, tampering.origin ?? origin),
        attestationObject: encode(
          isoCBOR.encode(attestation as Parameters<typeof isoCBOR.encode>[0]),
        ),
        transports: ['internal'],
      }
      return { challenge, passkey: { ...common, response } }
    },
    authenticate(
      { challenge, options }: PasskeyChallenge,
      tampering: Tampering = {},
    ): PasskeyProof {
      const clientDataJSON = clientData('webauthn.get', options, tampering.origin ?? origin)
      const authenticatorData = buildAuthenticatorData(tampering)
      const signed = Buffer.concat([
        authenticatorData,
        sha256(Buffer.from(clientDataJSON, 'base64url')),
      ])
      const signature = sign('sha256', tampering.isForged ? randomBytes(9) : signed, privateKey)
      const response = {
        clientDataJSON,
        authenticatorData: encode(authenticatorData),
        signature: encode(signature),
      }
      return { challenge, passkey: { ...common, response } }
    },
  }
}

function newDeviceKey(): DeviceKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { id: randomBytes(16), privateKey }
}

function clientData(
  type: string,
  { challenge }: PasskeyChallenge['options'],
  origin: string,
): string {
  return encode(Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false })))
}

function sha256(text: string | Uint8Array): Buffer {
  return createHash('sha256').update(text).digest()
}

function encode(value: Uint8Array): string {
  return Buffer.from(value).toString('base64url')
}

function decode(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'base64url'))
}
