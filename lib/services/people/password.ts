import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

/** Costs of argon2id, OWASP's first choice: 46 MiB, one pass. 40 ms on the smallest machine. */
const COST = { memory: 47_104, passes: 1, parallelism: 1, tagLength: 32 }
const SALT_BYTES = 16

/** Maximum concurrent hashes: Node's four threads also serve files, DNS and compression. */
const CONCURRENCY_MAX = 2

const QUEUE_KEY = Symbol.for('troco.hashing')
/** Holds the queue of the process, because Next bundles its own copy of this module. */
const holder = globalThis as typeof globalThis & {
  [QUEUE_KEY]?: { running: number; waiting: (() => void)[] }
}

const deriveNow = promisify(argon2)

/** Makes a random password (120 bits), to be shown once. */
export function makePassword(): string {
  return randomBytes(15).toString('base64url')
}

export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(SALT_BYTES)
  const tag = await derive({ ...COST, message: normalize(password), nonce })
  const { memory, passes, parallelism } = COST
  const parts = [nonce, tag].map(bytes => bytes.toString('base64').replace(/=+$/, ''))
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${parts.join('$')}`
}

const ENCODED_HASH = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/

/** Without a hash, takes as long as with one: the time must not reveal a registered e-mail. */
export async function verifyPassword(password: string, encoded: string | null): Promise<boolean> {
  const parts = ENCODED_HASH.exec(encoded ?? '')
  const [, memory, passes, parallelism, salt = '', tag = ''] = parts ?? []
  const expected = Buffer.from(tag, 'base64')
  const actual = await derive({
    message: normalize(password),
    nonce: parts ? Buffer.from(salt, 'base64') : Buffer.alloc(SALT_BYTES),
    memory: Number(memory ?? COST.memory),
    passes: Number(passes ?? COST.passes),
    parallelism: Number(parallelism ?? COST.parallelism),
    tagLength: expected.length || COST.tagLength,
  })
  return parts !== null && actual.length === expected.length && timingSafeEqual(actual, expected)
}

export function isHashOutdated(encoded: string): boolean {
  const { memory, passes, parallelism } = COST
  return !encoded.startsWith(`$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$`)
}

/** Two at a time: many guesses must not occupy all threads, nor 46 MiB each. */
async function derive(parameters: Parameters<typeof deriveNow>[1]): Promise<Buffer> {
  holder[QUEUE_KEY] ??= { running: 0, waiting: [] }
  const queue = holder[QUEUE_KEY]
  if (queue.running < CONCURRENCY_MAX) queue.running += 1
  else await new Promise<void>(resolve => queue.waiting.push(resolve))
  try {
    return await deriveNow('argon2id', parameters)
  } finally {
    const next = queue.waiting.shift()
    if (next) next()
    else queue.running -= 1
  }
}

/** Unifies encodings (NFKC): keyboards may encode the same character differently. */
function normalize(password: string): string {
  return password.normalize('NFKC')
}
