import { crc32, deflateSync } from 'node:zlib'

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
