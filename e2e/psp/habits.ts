/** What banks do beside their documents. Each is off at false or 0. */
export interface Habits {
  /** Responses show only a part of a payee's key. */
  masksKeys: boolean
  /** Times are those of Brasília, marked as UTC, and so are those of a list's period (bacen/pix-api#163). */
  hasLocalTimes: boolean
  /** An empty list is an empty object. */
  hasEmptyObjects: boolean
  /** An earlier record is missing on each n-th page that is not the first of a list. */
  shiftsPages: number
  /** Each n-th payment is returned by the bank, whole, in part or in two parts. */
  returnsPayments: number
  /** A payout or refund is refused so often by a name that no document has. */
  refusesUnnamed: number
  /** So many questions about a payout find nothing, although it was taken. */
  hidesPayouts: number
  /** Each n-th payout fails after a response has reported it as paid. */
  failsPayouts: number
  /** Each n-th request is limited, by a response that names no pause. */
  limitsRequests: number
  /** The balance is that of so long ago. */
  balanceBehindMs: number
}

export const NO_HABITS: Habits = {
  masksKeys: false,
  hasLocalTimes: false,
  hasEmptyObjects: false,
  shiftsPages: 0,
  returnsPayments: 0,
  refusesUnnamed: 0,
  hidesPayouts: 0,
  failsPayouts: 0,
  limitsRequests: 0,
  balanceBehindMs: 0,
}

/** What of a bank its habits need; `counts`: how often each had an occasion. */
interface Habitual {
  settings: { habits: Habits }
  counts: Map<string, number>
}

type Rhythm = 'shiftsPages' | 'returnsPayments' | 'failsPayouts' | 'limitsRequests'

/** Whether it is the n-th time. */
export function isTurn(bank: Habitual, name: Rhythm): boolean {
  const every = bank.settings.habits[name]
  return every > 0 && countUp(bank, name) % every === 0
}

/** Whether an order is one that is refused by an unknown name: it was not refused often enough. */
export function isRefusedUnnamed(bank: Habitual, id: string): boolean {
  const { refusesUnnamed } = bank.settings.habits
  return refusesUnnamed > 0 && countUp(bank, `refused ${id}`) <= refusesUnnamed
}

/** Whether the question about a payout is one of the first, which find nothing. */
export function isHidden(bank: Habitual, idEnvio: string): boolean {
  const { hidesPayouts } = bank.settings.habits
  return hidesPayouts > 0 && countUp(bank, `asked ${idEnvio}`) <= hidesPayouts
}

export function countUp({ counts }: Habitual, name: string): number {
  const count = (counts.get(name) ?? 0) + 1
  counts.set(name, count)
  return count
}

/** Difference between true times and those that the bank writes. */
export function timeShiftMs({ habits }: Habitual['settings']): number {
  return habits.hasLocalTimes ? 3 * 3_600_000 : 0
}

/** Rewrites a response as the habits say. What repeats the request stays. */
export function applyHabits(
  settings: Habitual['settings'],
  body: unknown,
  path: string[] = [],
): unknown {
  const [name = ''] = path
  if (settings.habits.hasEmptyObjects && isEmptyList(name, body)) return {}
  if (typeof body === 'string') return rewriteText(settings, body, path)
  if (typeof body !== 'object' || body === null || name === 'parametros') return body
  if (Array.isArray(body)) return body.map(item => applyHabits(settings, item, path))
  const fields = Object.entries(body).map(([key, value]) => [
    key,
    applyHabits(settings, value, [key, ...path]),
  ])
  return Object.fromEntries(fields)
}

/** A payment without returns has no list of them. */
function isEmptyList(name: string, body: unknown): boolean {
  return name === 'devolucoes' ? body === undefined : Array.isArray(body) && body.length === 0
}

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/

function rewriteText(settings: Habitual['settings'], text: string, [name, parent]: string[]) {
  if (settings.habits.masksKeys && name === 'chave' && parent === 'favorecido') return maskKey(text)
  if (!TIME.test(text)) return text
  return new Date(Date.parse(text) - timeShiftMs(settings)).toISOString()
}

/** Shows both ends of a document, phone or random key, and the domain of an e-mail address. */
function maskKey(key: string): string {
  const [name = '', domain] = key.split('@')
  if (domain !== undefined) return `${name.slice(0, 1)}***@${domain}`
  if (/^\d{11}$/.test(key)) return `***${key.slice(3, 9)}**`
  return `${key.slice(0, 3)}${'*'.repeat(key.length - 7)}${key.slice(-4)}`
}
