import { crc32, deflateSync } from 'node:zlib'
import { encode } from 'uqr'
import * as z from 'zod'
import { must, openApiMeta } from '#lib/core/fields.ts'
import { Html } from '#lib/core/html.ts'

/** Returns start and length of each run of dark modules in a row of a QR code. */
export function findDarkRuns(row: boolean[]): { start: number; length: number }[] {
  const text = row.map(isDark => (isDark ? '1' : '0')).join('')
  return [...text.matchAll(/1+/g)].map(({ index, 0: run }) => ({
    start: index,
    length: run.length,
  }))
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** Draws a square of black and white pixels, one bit each. `isDark` is called for each pixel. */
export function drawPng(size: number, isDark: (x: number, y: number) => boolean): Buffer {
  const rowBytes = 1 + Math.ceil(size / 8)
  const pixels = Buffer.alloc(rowBytes * size)
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      if (isDark(x, y)) continue
      const index = y * rowBytes + 1 + (x >> 3)
      pixels[index] = (pixels[index] ?? 0) | (0x80 >> (x & 7))
    }
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(size, 0)
  header.writeUInt32BE(size, 4)
  // Bit depth 1; grayscale, standard compression and filters, not interlaced are 0.
  header.writeUInt8(1, 8)
  const parts = [chunk('IHDR', header), chunk('IDAT', deflateSync(pixels)), chunk('IEND')]
  return Buffer.concat([SIGNATURE, ...parts])
}

function chunk(type: string, data = Buffer.alloc(0)): Buffer {
  const content = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(content))
  return Buffer.concat([length, content, sum])
}

/** Error correction M, and the quiet zone that the QR standard requires, in modules. */
const QR_OPTIONS = { ecc: 'M', border: 4 } as const
/** Maximum cached codes: drawing one takes milliseconds, and a page is requested repeatedly. */
const CACHED_MAX = 256
const cachedCodes = new Map<string, Html>()

/** Returns the QR code of a text: dark on white in every theme, error correction M. */
export function renderQrCode(text: string): Html {
  const cached = cachedCodes.get(text)
  if (cached) return cached
  const drawn = drawCode(text)
  const [oldest] = cachedCodes.size < CACHED_MAX ? [] : cachedCodes.keys()
  if (oldest !== undefined) cachedCodes.delete(oldest)
  cachedCodes.set(text, drawn)
  return drawn
}

function drawCode(text: string): Html {
  const { data, size } = encode(text, QR_OPTIONS)
  const lines = drawRows(data)
  return new Html(
    `<svg class="qr" role="img" aria-label="QR code" data-testid="qr-code" viewBox="0 0 ${size} ${size}"` +
      ` shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${size}v${size}H0z"/>` +
      `<path stroke="#17211d" d="${lines}"/></svg>`,
  )
}

function drawRows(rows: boolean[][]): string {
  return rows.map(drawRow).join('')
}

/** Draws the dark runs of a row as one line of width 1: half as long as rectangles. */
function drawRow(row: boolean[], y: number): string {
  let penX = 0
  return findDarkRuns(row)
    .map(({ start, length }, runIndex) => {
      const go = runIndex === 0 ? `M${start} ${y}.5` : `m${start - penX} 0`
      penX = start + length
      return `${go}h${length}`
    })
    .join('')
}

const SIZE_MIN = 200
/** Enough for print of 8 cm; drawing takes a few milliseconds. */
const SIZE_MAX = 1_000
const SIZE_RULE = `be a whole number of pixels from ${SIZE_MIN} to ${SIZE_MAX}`
const SIZE = 400

export const pngQuery = z.object({
  size: z
    .string()
    .regex(/^[1-9]\d{2,3}$/, must(SIZE_RULE))
    .transform(Number)
    .refine(size => size >= SIZE_MIN && size <= SIZE_MAX, must(SIZE_RULE))
    .default(SIZE)
    .meta({
      like: z.int().min(SIZE_MIN).max(SIZE_MAX).default(SIZE),
      ...openApiMeta('Width and height, in pixels.', SIZE),
    }),
})

/** Returns the QR code of a text as an SVG file: black on white, with the quiet zone. */
export function renderSvg(text: string): string {
  const { data, size } = encode(text, QR_OPTIONS)
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges">` +
    `<path fill="#fff" d="M0 0h${size}v${size}H0z"/><path stroke="#000" d="${drawRows(data)}"/></svg>`
  )
}

/** Returns it as a PNG file. All modules are equally wide; what is left widens the quiet zone. */
export function renderPng(text: string, pixels: number): Buffer {
  const { data, size } = encode(text, QR_OPTIONS)
  const scale = Math.floor(pixels / size)
  const margin = Math.floor((pixels - size * scale) / 2)
  const moduleAt = (pixel: number) => Math.floor((pixel - margin) / scale)
  return drawPng(pixels, (x, y) => data[moduleAt(y)]?.[moduleAt(x)] === true)
}
