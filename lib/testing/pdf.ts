import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram } from '#lib/testing/debian.ts'

const run = promisify(execFile)

export interface ReadPdf {
  text: string
  /** Contents of the QR codes on its pages, as a camera reads them. */
  codes: string[]
  /** The words that reach beyond the page, or less than `margin` points from its edges. */
  outside: (margin: number) => string[]
}

/** Reads a PDF with Debian's programs, which share no code with the product. */
export async function readPdf(pdf: string): Promise<ReadPdf> {
  const pdftotext = await requireProgram('poppler-utils', 'pdftotext')
  const pdftoppm = await requireProgram('poppler-utils', 'pdftoppm')
  const zbarimg = await requireProgram('zbar-tools', 'zbarimg')
  const folder = mkdtempSync(join(tmpdir(), 'pdf-'))
  try {
    const file = join(folder, 'file.pdf')
    writeFileSync(file, pdf)
    const { stdout: text, stderr } = await run(pdftotext, ['-layout', file, '-'])
    if (stderr) throw new Error(`pdftotext complains: ${stderr}`)
    const { stdout: boxes } = await run(pdftotext, ['-bbox', file, '-'])
    await run(pdftoppm, ['-r', '150', '-png', '-singlefile', file, join(folder, 'page')])
    const { stdout: codes } = await run(zbarimg, ['--quiet', '--raw', join(folder, 'page.png')])
    return { text, codes: codes.trim().split('\n'), outside: margin => findOutside(boxes, margin) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function requireProgram(debianPackage: string, name: string): Promise<string> {
  const program = await findProgram(debianPackage, [name])
  if (!program) throw new Error(`${name} is missing: install the Debian package ${debianPackage}`)
  return program
}

function findOutside(boxes: string, margin: number): string[] {
  const [, width, height] = /<page width="([\d.]+)" height="([\d.]+)"/.exec(boxes) ?? []
  const words = boxes.matchAll(
    /<word xMin="([-\d.]+)" yMin="([-\d.]+)" xMax="([-\d.]+)" yMax="([-\d.]+)">(.*?)<\/word>/g,
  )
  return [...words].flatMap(([, left, top, right, bottom, word = '']) => {
    const isInside =
      Number(left) >= margin &&
      Number(right) <= Number(width) - margin &&
      Number(top) >= 10 &&
      Number(bottom) <= Number(height) - 10
    return isInside ? [] : [word]
  })
}
