import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** Text that already is HTML and is not escaped again. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Part = Html | string | number | null | false | Part[]

/** Builds HTML; values that are not `Html` are escaped. */
export function html(pieces: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(
    pieces.reduce((text, piece, index) => text + renderPart(parts[index - 1] ?? '') + piece),
  )
}

function renderPart(part: Part): string {
  if (part instanceof Html) return part.text
  if (Array.isArray(part)) return part.map(renderPart).join('')
  if (part === null || part === false) return ''
  return String(part).replace(/[&<>"']/g, sign => `&#${sign.charCodeAt(0)};`)
}

const FONT_PATH = '/docs/assets/hanken.woff2'

/** The text face for pages without Next: a subset of 17 KB, see app/fonts/README.md. */
const file = readFileSync(new URL('../../app/fonts/hanken-grotesk.woff2', import.meta.url))

/** A part of the hash of a file, which makes its URL new whenever the file changes. */
export function versionOf(body: Buffer): string {
  return createHash('sha256').update(body).digest('base64url').slice(0, 11)
}

export const TEXT_FACE = { name: 'hanken.woff2', file, url: `${FONT_PATH}?v=${versionOf(file)}` }
