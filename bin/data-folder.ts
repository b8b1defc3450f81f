import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import * as z from 'zod'
import { isTrocoError, setupError } from '#lib/core/errors.ts'

/** Generated secrets of an installation. A copy of the data folder contains all of them. */
const Secrets = z.object({
  server: z.string().min(32),
  database: z.string().min(16),
  demo: z.string().min(12),
})
export type Secrets = z.infer<typeof Secrets>

/** Opens the data folder, creating it and its secrets if missing. Safe for concurrent processes. */
export function openDataFolder(path: string): { folder: string; secrets: Secrets } {
  const folder = resolve(path)
  try {
    // 0711: started by root, PostgreSQL runs as another user, who must enter but not list it.
    if (!statSync(folder, { throwIfNoEntry: false }))
      mkdirSync(folder, { recursive: true, mode: 0o711 })
    const file = join(folder, 'secrets.json')
    if (!statSync(file, { throwIfNoEntry: false })) {
      requireNoData(folder)
      writeOnce(file, makeSecrets())
    }
    return { folder, secrets: readSecrets(file) }
  } catch (error) {
    if (isTrocoError(error)) throw error
    const { code } = error as NodeJS.ErrnoException
    throw setupError(
      `The data folder ${folder} cannot be used (${code}): make it a folder that this user can write to, or set TROCO_DATA`,
    )
  }
}

/** Throws if the folder already contains a database, which new secrets could not open. */
function requireNoData(folder: string): void {
  for (const name of ['postgres', 'postgres-location']) {
    if (!statSync(join(folder, name), { throwIfNoEntry: false })) continue
    throw setupError(
      `secrets.json is missing in ${folder}: restore it from your backup, it contains the keys to this data`,
    )
  }
}

/** Writes a file of secrets atomically, readable by its owner only. */
export function writePrivate(file: string, value: unknown): void {
  renameSync(writeDraft(file, value), file)
}

function writeOnce(file: string, value: unknown): void {
  const draft = writeDraft(file, value)
  try {
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

function writeDraft(file: string, value: unknown): string {
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`
  writeFileSync(draft, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 })
  chmodSync(draft, 0o600)
  return draft
}

function makeSecrets(): Secrets {
  return {
    server: randomBytes(48).toString('base64url'),
    database: randomBytes(24).toString('base64url'),
    demo: randomBytes(12).toString('base64url'),
  }
}

function readSecrets(file: string): Secrets {
  try {
    return Secrets.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const problem = code ? `cannot be read (${code})` : 'is damaged'
    throw setupError(
      `${file} ${problem}: restore it from your backup, it contains the keys to this data`,
    )
  }
}
