/**
 * Writes a page of A4 with the fonts that every reader of PDF has, so that no font is embedded. They show
 * the characters of Windows-1252, which contain those of Portuguese; letters beyond lose their accents or
 * become a question mark. The file is plain ASCII.
 */

export const PDF_PAGE = { width: 595, height: 842 }

export type PdfFont = 'regular' | 'bold' | 'mono'
export type PdfColor = readonly [red: number, green: number, blue: number]

interface TextStyle {
  size: number
  color: PdfColor
  font?: PdfFont
}

const FONTS = { regular: 'Helvetica', bold: 'Helvetica-Bold', mono: 'Courier' } as const
const FONT_NAMES = Object.keys(FONTS) as PdfFont[]

/** Widths of space to tilde in thousandths of the size, from Adobe's metrics of Helvetica. */
const WIDTHS = (
  '278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 ' +
  '556 556 278 278 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 ' +
  '667 778 722 667 611 722 667 944 667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 ' +
  '556 222 222 500 222 833 556 556 556 556 333 500 278 556 500 722 500 500 500 334 260 334 584'
)
  .split(' ')
  .map(Number)
/** No narrower than any character without a width of its own. */
const WIDEST = 1_000
const MONO_WIDTH = 600

/** Characters with the codes 128 to 159 of Windows-1252. A space marks an unassigned code. */
const UPPER = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ'

/** Returns the code of a character in Windows-1252; null if it has none. */
function codeOf(character: string): number | null {
  const point = character.codePointAt(0) ?? 0
  if ((point >= 32 && point < 127) || (point >= 160 && point < 256)) return point
  const index = character === ' ' ? -1 : UPPER.indexOf(character)
  return index === -1 ? null : 128 + index
}

/** Replaces what the fonts lack: other spaces by a space, letters by their base letter. */
export function toPdfText(text: string): string {
  const replace = (character: string): string => {
    if (codeOf(character) !== null) return character
    if (/^\p{M}$|^\p{Cf}$/u.test(character)) return ''
    if (/^[\s\p{Cc}]$/u.test(character)) return ' '
    const base = character.normalize('NFKD').replace(/\p{M}/gu, '')
    const known = [...base].filter(letter => codeOf(letter) !== null)
    return known.length > 0 ? known.join('') : '?'
  }
  return [...text.normalize('NFC')].map(replace).join('')
}

/** Returns the width of text in points; an upper bound for bold text of letters and digits. */
export function pdfWidth(text: string, size: number, font: PdfFont = 'regular'): number {
  const widthOf = (character: string) => {
    if (font === 'mono') return MONO_WIDTH
    const base = character.normalize('NFD').charCodeAt(0)
    return (WIDTHS[base - 32] ?? WIDEST) + (font === 'bold' ? 56 : 0)
  }
  return ([...toPdfText(text)].reduce((sum, one) => sum + widthOf(one), 0) * size) / 1_000
}

/** Breaks text into lines of at most this width, within words if it must; what is too much is cut. */
export function wrapPdfText(
  text: string,
  width: number,
  { size, font }: Pick<TextStyle, 'size' | 'font'>,
  linesMax = 99,
): string[] {
  const fits = (line: string) => pdfWidth(line, size, font) <= width
  const lines = ['']
  for (const word of toPdfText(text).split(/ +/)) {
    const last = lines.at(-1) ?? ''
    if (last !== '' && fits(`${last} ${word}`)) lines[lines.length - 1] = `${last} ${word}`
    else if (last !== '') lines.push('')
    if (last === '' || lines.at(-1) === '') {
      for (const character of word) {
        const line = (lines.at(-1) ?? '') + character
        if (fits(line)) lines[lines.length - 1] = line
        else lines.push(character)
      }
    }
  }
  if (lines.length <= linesMax) return lines
  return [...lines.slice(0, linesMax - 1), `${(lines[linesMax - 1] ?? '').slice(0, -2)}…`]
}

function literal(text: string): string {
  const bytes = [...toPdfText(text)].map(character => codeOf(character) ?? 63)
  const escaped = bytes.map(byte =>
    byte > 126 || '()\\'.includes(String.fromCharCode(byte))
      ? `\\${byte.toString(8).padStart(3, '0')}`
      : String.fromCharCode(byte),
  )
  return `(${escaped.join('')})`
}

function fill(color: PdfColor): string {
  return `${color.map(part => (part / 255).toFixed(3)).join(' ')} rg`
}

/** Draws one line of text. As everywhere here, coordinates are points from the upper left corner. */
export function pdfText(x: number, y: number, text: string, style: TextStyle): string {
  const font = FONT_NAMES.indexOf(style.font ?? 'regular') + 1
  const place = `${x} ${PDF_PAGE.height - y} Td`
  return `${fill(style.color)} BT /F${font} ${style.size} Tf ${place} ${literal(text)} Tj ET`
}

export type PdfRectangle = readonly [x: number, y: number, width: number, height: number]

export function pdfRectangles(rectangles: PdfRectangle[], color: PdfColor): string {
  const paths = rectangles.map(
    ([x, y, width, height]) => `${x} ${PDF_PAGE.height - y - height} ${width} ${height} re`,
  )
  return `${fill(color)} ${paths.join('\n')} f`
}

interface PdfPage {
  title: string
  language: string
  drawings: string[]
  link: { area: PdfRectangle; url: string }
}

/** Returns the file as text. It is ASCII, so offsets in characters are offsets in bytes. */
export function buildPdf({ title, language, drawings, link }: PdfPage): string {
  const content = drawings.join('\n')
  const [x, y, width, height] = link.area
  const bottom = PDF_PAGE.height - y - height
  const fonts = FONT_NAMES.map((_, index) => `/F${index + 1} ${7 + index} 0 R`).join(' ')
  const objects = [
    `<< /Type /Catalog /Pages 2 0 R /Lang ${literal(language)} /ViewerPreferences << /DisplayDocTitle true >> >>`,
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${PDF_PAGE.width} ${PDF_PAGE.height}] /Contents 4 0 R /Resources << /Font << ${fonts} >> >> /Annots [5 0 R] >>`,
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    `<< /Type /Annot /Subtype /Link /Border [0 0 0] /Rect [${x} ${bottom} ${x + width} ${bottom + height}] /A << /S /URI /URI ${literal(link.url)} >> >>`,
    `<< /Title ${literal(title)} /Producer (Troco) >>`,
    ...Object.values(FONTS).map(
      name => `<< /Type /Font /Subtype /Type1 /BaseFont /${name} /Encoding /WinAnsiEncoding >>`,
    ),
  ]
  let file = '%PDF-1.7\n'
  const offsets = objects.map((object, index) => {
    const offset = file.length
    file += `${index + 1} 0 obj\n${object}\nendobj\n`
    return `${String(offset).padStart(10, '0')} 00000 n \n`
  })
  const size = objects.length + 1
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${offsets.join('')}`
  return `${file}${table}trailer\n<< /Size ${size} /Root 1 0 R /Info 6 0 R >>\nstartxref\n${file.length}\n%%EOF\n`
}
