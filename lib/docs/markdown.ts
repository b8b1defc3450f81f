/** Writes a table in Markdown; no table without rows. */
export function table(head: string[], rows: string[][]): string {
  if (rows.length === 0) return ''
  const line = (cells: string[]) => `| ${cells.map(cell).join(' | ')} |`
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n')
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replace(/\s*\n\s*/g, ' ')
}

export function inlineCode(text: string): string {
  return `\`${text}\``
}

export function fence(language: string, source: string): string {
  return `\`\`\`${language}\n${source}\n\`\`\``
}

export function jsonFence(value: unknown): string {
  return fence('json', JSON.stringify(value, null, 2))
}

/** Joins blocks with empty lines between them, without those that are empty. */
export function blocks(...parts: (string | false | undefined)[]): string {
  return parts.filter(Boolean).join('\n\n')
}
