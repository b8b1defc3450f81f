import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { Invariant } from '#lib/core/invariant.ts'

const FOLDER = new URL('../../cli/', import.meta.url)
const BLOCK = 512
/** The same for every build: the package of one version always has the same bytes. */
const MODIFIED_AT = new Date('2026-01-01T00:00:00Z')

export const COMMAND_LINE_VERSION: string = JSON.parse(
  readFileSync(new URL('package.json', FOLDER), 'utf8'),
).version

/** Packs the command line for integrators as `npm pack` would: files below `package/`, in a gzipped tar. */
export function packCommandLine(): Buffer {
  const files = readdirSync(FOLDER).filter(name => !name.endsWith('.test.ts'))
  const entries = files.toSorted().flatMap(name => {
    const content = readFileSync(new URL(name, FOLDER))
    const padding = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)
    return [tarHeader(`package/${name}`, content.length), content, padding]
  })
  return gzipSync(Buffer.concat([...entries, Buffer.alloc(2 * BLOCK)]))
}

/** Header of a file in the format ustar (POSIX.1-1988). */
function tarHeader(name: string, size: number): Buffer {
  if (name.length > 100) throw new Invariant(`too long for a tar: ${name}`)
  const header = Buffer.alloc(BLOCK)
  const octal = (value: number, length: number) =>
    `${value.toString(8).padStart(length - 1, '0')}\0`
  header.write(name, 0)
  header.write(octal(0o644, 8), 100)
  header.write(octal(0, 8), 108)
  header.write(octal(0, 8), 116)
  header.write(octal(size, 12), 124)
  header.write(octal(MODIFIED_AT.getTime() / 1000, 12), 136)
  header.write('        0', 148)
  header.write('ustar\x0000', 257)
  const checksum = header.reduce((sum, byte) => sum + byte, 0)
  header.write(`${checksum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}
