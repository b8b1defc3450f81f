import { argon2, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { networkOf, siteOf } from '#lib/core/addresses.ts'
import { isEqual } from '#lib/core/keys.ts'
import { currentLogContext } from '#lib/core/log.ts'
import { type HashCaller, withHashPlace } from '#lib/people/hash-queue.ts'

/** Costs of argon2id that OWASP recommends: 19 MiB, two passes. 20 ms on the smallest machine. */
const COST = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }
const SALT_BYTES = 16

const deriveNow = promisify(argon2)

/** Makes a random password (120 bits), to be shown once. */
export function makePassword(): string {
  return randomBytes(15).toString('base64url')
}

/** Counts a caller without a known device by network, so that no network fills the queue. */
export function unknownCaller(address: string | null): HashCaller {
  return { isKnown: false, key: address === null ? '' : (siteOf(address) ?? networkOf(address)) }
}

export function knownCaller(userId: string): HashCaller {
  return { isKnown: true, key: userId }
}

export async function hashPassword(
  password: string,
  caller: HashCaller = currentCaller(),
): Promise<string> {
  const nonce = randomBytes(SALT_BYTES)
  const tag = await derive({ ...COST, message: normalize(password), nonce }, caller)
  const { memory, passes, parallelism } = COST
  const parts = [nonce, tag].map(bytes => bytes.toString('base64').replace(/(?<!=)=+$/, ''))
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${parts.join('$')}`
}

const ENCODED_HASH = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/

/** Without a hash, takes as long as with one of today's cost. */
export async function verifyPassword(
  password: string,
  encoded: string | null,
  caller: HashCaller = currentCaller(),
): Promise<boolean> {
  const parts = ENCODED_HASH.exec(encoded ?? '')
  const [, memory, passes, parallelism, salt = '', tag = ''] = parts ?? []
  const expected = Buffer.from(tag, 'base64')
  const parameters = {
    message: normalize(password),
    nonce: parts ? Buffer.from(salt, 'base64') : Buffer.alloc(SALT_BYTES),
    memory: Number(memory ?? COST.memory),
    passes: Number(passes ?? COST.passes),
    parallelism: Number(parallelism ?? COST.parallelism),
    tagLength: expected.length || COST.tagLength,
  }
  const actual = await derive(parameters, caller)
  return parts !== null && isEqual(actual, expected)
}

export function isHashOutdated(encoded: string): boolean {
  const { memory, passes, parallelism } = COST
  return !encoded.startsWith(`$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$`)
}

function derive(parameters: Parameters<typeof deriveNow>[1], caller: HashCaller): Promise<Buffer> {
  return withHashPlace(caller, () => deriveNow('argon2id', parameters))
}

/** Outside of a request, as on the command line, every hash has a key of its own. */
function currentCaller(): HashCaller {
  const { ip } = currentLogContext()
  return ip ? unknownCaller(ip) : knownCaller(randomBytes(SALT_BYTES).toString('base64url'))
}

/** Unifies encodings (NFKC): keyboards may encode the same character differently. */
function normalize(password: string): string {
  return password.normalize('NFKC')
}
