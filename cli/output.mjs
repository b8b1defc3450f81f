const hasColor = process.stdout.isTTY && !process.env.NO_COLOR
const paint = (code, text) => (hasColor ? `\u001b[${code}m${text}\u001b[0m` : text)
export const green = text => paint(32, text)
export const red = text => paint(31, text)
export const dim = text => paint(2, text)

const MONEY = new Intl.NumberFormat('pt-BR', { style: 'currency', currency: 'BRL' })
/** Width of the longest event type. */
const TYPE_WIDTH = 25

export function printEvent(event, json, outcome = '') {
  if (json) return void process.stdout.write(`${JSON.stringify(event)}\n`)
  const { id, amount } = event.refund ?? event.transaction ?? event.withdrawal
  const cells = [
    dim(event.created_at.slice(0, 19)),
    String(event.sequence).padStart(6),
    event.type.padEnd(TYPE_WIDTH),
    MONEY.format(amount / 100).padStart(14),
    id,
  ]
  process.stdout.write(`${cells.join('  ')}${outcome && `  ${outcome}`}\n`)
}

/** Prints what is for people only, so that standard output has data alone. */
export function printNote(text) {
  process.stderr.write(`${text}\n`)
}
