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
