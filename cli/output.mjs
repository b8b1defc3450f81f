const hasColor = process.stdout.isTTY && !process.env.NO_COLOR
const paint = (code, text) => (hasColor ? `\u001b[${code}m${text}\u001b[0m` : text)
export const green = text => paint(32, text)
export const red = text => paint(31, text)
export const dim = text => paint(2, text)

const MONEY = new Intl.NumberFormat('pt-BR', { style: 'currency', currency: 'BRL' })
/** Width of the longest event type. */
const TYPE_WIDTH = 26
/** Width of a sequence number after a restore, which begins after a multiple of 2³². */
const NUMBER_WIDTH = 10
const AMOUNT_WIDTH = 14
/** Width of a UUID. */
const ID_WIDTH = 36
/** Width of a time to the second: the API states it in UTC. */
const TIME_WIDTH = 19
export const TIME_COLUMN = 'TIME (UTC)'.padEnd(TIME_WIDTH)
const EVENT_COLUMNS = [
  TIME_COLUMN,
  'SEQUENCE'.padStart(NUMBER_WIDTH),
  'EVENT'.padEnd(TYPE_WIDTH),
  'AMOUNT'.padStart(AMOUNT_WIDTH),
  'ID'.padEnd(ID_WIDTH),
]

/** Formats a time as the first column of a table. */
export function formatTime(time) {
  return dim(time.slice(0, TIME_WIDTH))
}

let hasHeader = false

/** Lets the next row begin another table. */
export function startTable() {
  hasHeader = false
}

/** Prints a row of the table that a command prints for people; before the first, the names of the columns. */
export function printRow(columns, cells) {
  if (!hasHeader) process.stdout.write(`${dim(columns.join('  ').trimEnd())}\n`)
  hasHeader = true
  process.stdout.write(`${cells.join('  ').trimEnd()}\n`)
}

export function printEvent(event, json, outcome = '') {
  if (json) return void process.stdout.write(`${JSON.stringify(event)}\n`)
  const { id, amount } = event.refund ?? event.transaction ?? event.withdrawal
  printRow(
    [...EVENT_COLUMNS, ...(outcome && ['RECEIVER'])],
    [
      formatTime(event.created_at),
      String(event.sequence).padStart(NUMBER_WIDTH),
      event.type.padEnd(TYPE_WIDTH),
      MONEY.format(amount / 100).padStart(AMOUNT_WIDTH),
      id.padEnd(ID_WIDTH),
      outcome,
    ],
  )
}

/** Prints what is for people only, so that standard output has data alone. */
export function printNote(text) {
  process.stderr.write(`${text}\n`)
}
