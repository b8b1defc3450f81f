import { createHash } from 'node:crypto'
import type { Dirent } from 'node:fs'
import { chown, mkdir, open, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setupError } from '#lib/core/errors.ts'
import { syncFolder } from '#lib/db/embedded-server.ts'

export interface CopiedFile {
  bytes: number
  sha256: string
}
export type Files = Record<string, CopiedFile>

export function sumBytes(files: Files): number {
  return Object.values(files).reduce((sum, { bytes }) => sum + bytes, 0)
}

interface CopyOptions {
  from: string
  to: string
  /** Returns whether a file or folder, by its path below `from`, is left out. */
  isExcluded?: (path: string) => boolean
  /** Owner of the copies, if this process is root and PostgreSQL runs as another user. */
  user?: { uid: number; gid: number } | null
  /** Checksums that the copied files must have, of all of them. */
  expected?: Files
  /** Ends the copy after the files that are being copied, of at most 1 GiB each. */
  signal?: AbortSignal
}

/** Files copied at the same time: each waits for the disk to store it. */
const PARALLEL = 4

/**
 * Copies a folder with its empty folders, readable by its owner only, and flushes it to disk. A file
 * that PostgreSQL removes meanwhile is left out, and one that it changes is repaired from the WAL.
 */
export async function copyFolder(options: CopyOptions): Promise<Files> {
  const { from, to, isExcluded = () => false, user, expected, signal } = options
  const entries = await readdir(from, { recursive: true, withFileTypes: true })
  const named = entries
    .map(entry => ({ entry, path: pathBelow(from, entry) }))
    .filter(({ path }) => !isExcluded(path))
  const folders = named.filter(({ entry }) => entry.isDirectory()).map(({ path }) => path)
  for (const path of ['', ...folders.toSorted()]) {
    await mkdir(join(to, path), { recursive: true, mode: 0o700 })
    if (user) await chown(join(to, path), user.uid, user.gid)
  }
  const paths = named.filter(({ entry }) => entry.isFile()).map(({ path }) => path)
  if (expected) requireSameNames(from, paths, expected)
  const files: Files = {}
  const waiting = paths.toSorted()
  const copyWaiting = async () => {
    for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
      signal?.throwIfAborted()
      const copied = await copyFile(join(from, path), join(to, path), user ?? null)
      if (copied === null) continue
      if (expected) requireSame(join(from, path), copied, expected[path])
      files[path] = copied
    }
  }
  const stopAll = (error: unknown) => {
    waiting.length = 0
    throw error
  }
  // Waits for all: a copy that goes on after a failure would be in the way of the removal.
  const copiers = Array.from({ length: PARALLEL }, () => copyWaiting().catch(stopAll))
  const failed = (await Promise.allSettled(copiers)).find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
  for (const path of ['', ...folders]) syncFolder(join(to, path))
  return files
}

/** Copies one file and returns its size and checksum; null if it no longer exists. */
export async function copyFile(
  from: string,
  to: string,
  user: { uid: number; gid: number } | null,
): Promise<CopiedFile | null> {
  const source = await open(from, 'r').catch(error => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (source === null) return null
  const hash = createHash('sha256')
  let bytes = 0
  try {
    const target = await open(to, 'wx', 0o600)
    try {
      for await (const chunk of source.createReadStream({ autoClose: false })) {
        hash.update(chunk)
        bytes += chunk.length
        await target.writeFile(chunk)
      }
      await target.sync()
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
  if (user) await chown(to, user.uid, user.gid)
  return { bytes, sha256: hash.digest('hex') }
}

/** Flushes the files of a folder to disk. Returns their sizes and checksums. */
export async function storeFolder(folder: string): Promise<Files> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files: Files = {}
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isDirectory()) syncFolder(path)
    if (!entry.isFile()) continue
    const hash = createHash('sha256')
    const file = await open(path, 'r')
    try {
      for await (const chunk of file.createReadStream({ autoClose: false })) hash.update(chunk)
      await file.sync()
      const { size } = await file.stat()
      files[pathBelow(folder, entry)] = { bytes: size, sha256: hash.digest('hex') }
    } finally {
      await file.close()
    }
  }
  syncFolder(folder)
  return files
}

function requireSameNames(folder: string, paths: string[], expected: Files): void {
  const missing = Object.keys(expected).find(path => !paths.includes(path))
  if (missing !== undefined) throw damaged(join(folder, missing), 'is missing')
}

function requireSame(path: string, copied: CopiedFile, expected: CopiedFile | undefined): void {
  if (!expected) throw damaged(path, 'does not belong to it')
  if (copied.sha256 !== expected.sha256) throw damaged(path, 'has another checksum')
}

function damaged(path: string, flaw: string) {
  return setupError(`The backup is damaged: ${path} ${flaw}. Use another backup`)
}

function pathBelow(folder: string, entry: Dirent): string {
  return join(entry.parentPath, entry.name).slice(folder.length + 1)
}

/** Writes a file that is whole after a power failure. Returns its size and checksum. */
export async function writeDurably(path: string, text: string): Promise<CopiedFile> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  syncFolder(dirname(path))
  const sha256 = createHash('sha256').update(text).digest('hex')
  return { bytes: Buffer.byteLength(text), sha256 }
}
