import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

/** OWASP's first choice for argon2id: 46 MiB, one pass. About 40 ms on the smallest machine. */
const COST = { memory: 47_104, passes: 1, parallelism: 1, tagLength: 32 }
const SALT_BYTES = 16

/** Node has four threads for this and for files, names and compression: those need some, too. */
const AT_ONCE = 2

const LINE = Symbol.for('troco.hashing')
/** The process's one, shared by the native modules and Next's copy of them. */
const holder = globalThis as typeof globalThis & {
  [LINE]?: { running: number; waiting: (() => void)[] }
}

const deriveNow = promisify(argon2)

/** A password for somebody who did not choose one, to be told once. */
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

const ENCODED = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/

/**
 * Whether this is the password. Without a hash it takes as long as with one, so that the answer
 * to an unknown e-mail tells nothing.
 */
export async function isPassword(password: string, encoded: string | null): Promise<boolean> {
  const parts = ENCODED.exec(encoded ?? '')
  const [, memory, passes, parallelism, salt = '', tag = ''] = parts ?? []
  const wanted = Buffer.from(tag, 'base64')
  const found = await derive({
    message: normalize(password),
    nonce: parts ? Buffer.from(salt, 'base64') : Buffer.alloc(SALT_BYTES),
    memory: Number(memory ?? COST.memory),
    passes: Number(passes ?? COST.passes),
    parallelism: Number(parallelism ?? COST.parallelism),
    tagLength: wanted.length || COST.tagLength,
  })
  return parts !== null && found.length === wanted.length && timingSafeEqual(found, wanted)
}

/** Whether it was made at another cost than one is made at now. */
export function isOutdated(encoded: string): boolean {
  const { memory, passes, parallelism } = COST
  return !encoded.startsWith(`$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$`)
}

/** In turn, so that a flood of guesses takes neither all threads nor 46 MiB for each at once. */
async function derive(parameters: Parameters<typeof deriveNow>[1]): Promise<Buffer> {
  holder[LINE] ??= { running: 0, waiting: [] }
  const line = holder[LINE]
  if (line.running < AT_ONCE) line.running += 1
  else await new Promise<void>(go => line.waiting.push(go))
  try {
    return await deriveNow('argon2id', parameters)
  } finally {
    const next = line.waiting.shift()
    if (next) next()
    else line.running -= 1
  }
}

/** The same characters typed on another keyboard are the same password. */
function normalize(password: string): string {
  return password.normalize('NFKC')
}
