import { encode } from 'uqr'
import * as z from 'zod'
import { must, openApiMeta } from '#lib/core/fields.ts'
import { Html } from '#lib/core/html.ts'
import { drawPng, findDarkRuns } from '#lib/core/qr.ts'

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
