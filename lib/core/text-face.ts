import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

const PATH = '/docs/assets/hanken.woff2'

/**
 * The text face for pages without Next: a subset of 17 KB, see app/fonts/README.md. Apart from html.ts, which a page of
 * Next loads by qr.ts: there no file is found beside a module, and the build of the pages fails.
 */
const file = readFileSync(new URL('../../app/fonts/hanken-grotesk.woff2', import.meta.url))

/** A part of the hash of a file, which makes its URL new whenever the file changes. */
export function versionOf(body: Buffer): string {
  return createHash('sha256').update(body).digest('base64url').slice(0, 11)
}

export const TEXT_FACE = { name: 'hanken.woff2', file, url: `${PATH}?v=${versionOf(file)}` }
