/** Tolerant reading of JSON: what is missing, null or of another kind is absent. */

export type Fields = Record<string, unknown>

/** Undefined if the text is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function fieldsOf(value: unknown): Fields {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? (value as Fields) : {}
}

export function elementsOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

/** Text with NUL or a lone surrogate is absent: PostgreSQL stores neither. */
export function textOf(value: unknown): string | null {
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'string' || value === '') return null
  return value.isWellFormed() && !value.includes('\0') ? value : null
}

/** A whole number, also as text. */
export function countOf(value: unknown): number | null {
  const text = textOf(value)
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null
}

/** Cents of an amount in reais, as text or number. */
export function centsOf(value: unknown): number | null {
  const [, whole, decimals = ''] = /^(\d{1,10})(?:\.(\d{1,2}))?$/.exec(textOf(value) ?? '') ?? []
  return whole === undefined ? null : Number(whole) * 100 + Number(decimals.padEnd(2, '0'))
}

/** A time without a zone is taken as UTC. */
export function timeOf(value: unknown): Date | null {
  const text = textOf(value)
  if (text === null || !/^\d{4}-\d{2}-\d{2}T/.test(text)) return null
  const time = new Date(/(Z|[+-]\d{2}:?\d{2})$/i.test(text) ? text : `${text}Z`)
  return Number.isNaN(time.getTime()) ? null : time
}

/** What came of a call of the bank, before it is judged. */
export type Reply = {
  /** The call failed for lack of a token, so it was not made. */
  isAboutToken?: boolean
  retryAfterMs?: number
} & (
  | {
      kind: 'response'
      status: number
      /** Undefined if the body is not JSON; its text, if a text was asked for. */
      body: unknown
    }
  /** `isSent`: the bank may have received the call. */
  | { kind: 'failure'; isSent: boolean; code: string }
)

/** Code of a call that this process postponed to keep the bank's limit of the rate. */
export const PACED = 'PACED'

/** Any 2xx: banks answer 200 for 201 and the reverse. Without JSON it says nothing. */
export function isSuccess(reply: Reply): boolean {
  return reply.kind === 'response' && isStatusOk(reply.status) && reply.body !== undefined
}

export function isStatusOk(status: number): boolean {
  return status >= 200 && status <= 299
}

export function bodyOf(reply: Reply): unknown {
  return reply.kind === 'response' ? reply.body : undefined
}
