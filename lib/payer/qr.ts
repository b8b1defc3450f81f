import { encode } from 'uqr'
import { Html } from '#lib/core/html.ts'
import { findDarkRuns } from '#lib/core/qr.ts'

/** Error correction M, and the quiet zone that the QR standard requires, in modules. */
export const QR_OPTIONS = { ecc: 'M', border: 4 } as const
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

export function drawRows(rows: boolean[][]): string {
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
