import { isObject } from '#lib/core/fields.ts'
import { MASKED } from '#lib/dashboard/requests/masked.ts'

/** Maximum bytes of a stored body. The database refuses more (request_log_bodies_short). */
export const LOGGED_BODY_MAX = 4096

type Rule = (value: unknown) => boolean

const isNumber: Rule = value => typeof value === 'number'
const isTextLike =
  (pattern: RegExp): Rule =>
  value =>
    typeof value === 'string' && pattern.test(value)
const isUuid = isTextLike(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
const isTime = isTextLike(/^\d{4}-\d\d-\d\dT[\d:.]{8,15}Z$/)
const isWord = isTextLike(/^[a-z_]{1,40}(\.[a-z_]{1,40})?$/)
const isPaymentId = isTextLike(/^[ED]\d{20}[0-9A-Za-z]{11}$/)

/** Fields whose value is stored, and the form it must have. Every other value is masked. */
const STORED: Record<string, Rule> = {
  ...rulesOf(isUuid, ['id', 'transaction_id', 'next_cursor']),
  ...rulesOf(isNumber, ['amount', 'refunded_amount', 'returned_amount', 'balance', 'expires_in']),
  ...rulesOf(isNumber, ['sequence', 'next_after', 'last_sequence']),
  ...rulesOf(isWord, ['status', 'mode', 'type', 'event', 'outcome', 'pix_key_type']),
  ...rulesOf(isTime, ['created_at', 'updated_at', 'expires_at', 'paid_at', 'cancelled_at']),
  ...rulesOf(isTime, ['approved_at', 'rejected_at', 'completed_at']),
  ...rulesOf(isPaymentId, ['end_to_end_id', 'return_id']),
}
/** Fields whose inner fields are checked one by one. Any other object or list is masked as a whole. */
const OPENED = ['data', 'transaction', 'withdrawal', 'refund']
/** Fields of a response, beside its data, with sentences of this program. They may repeat a part of the request. */
const SENTENCES = ['error', 'errors', 'message']
/** Ids that this program made, which are of version 7, unlike Pix keys; and times. */
const KEPT = String.raw`\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b\d{4}-\d\d-\d\d(?:T[\d:.]{8,15}Z)?(?![\d-])`
/** 8 digits or more, with whatever separates them: phone numbers, documents, keys. */
const DIGITS = String.raw`\d(?:[ .()/-]*\d){7,}`
const KEPT_OR_DIGITS = new RegExp(`(${KEPT})|${DIGITS}`, 'g')
/** Without `@` in it: a pattern of an e-mail takes quadratic time on a text that has none. */
const WORD = /[^\s"']+/g
/** Longest sentence of this program that is searched for personal data; a longer one is masked as a whole. */
const SENTENCE_MAX = 500
/** Keys of the API; others are chosen by the caller. */
const KEY_FORM = /^[a-z_]{1,40}$/

function rulesOf(rule: Rule, names: string[]): Record<string, Rule> {
  return Object.fromEntries(names.map(name => [name, rule]))
}

/** Returns the body of a request without personal data; null if its JSON is longer than the log stores. */
export function maskRequest(body: unknown): unknown {
  return limit(maskFields(body))
}

/** As `maskRequest`, with the sentences of this program. */
export function maskResponse(body: unknown): unknown {
  return limit(maskFields(body, SENTENCES))
}

function limit(masked: unknown): unknown {
  return Buffer.byteLength(JSON.stringify(masked)) > LOGGED_BODY_MAX ? null : masked
}

function maskFields(value: unknown, sentences: string[] = []): unknown {
  if (value === null) return null
  if (Array.isArray(value)) return value.map(inner => maskFields(inner))
  if (!isObject(value)) return MASKED
  const entries = Object.entries(value).map(([key, inner]) => {
    if (!KEY_FORM.test(key)) return [MASKED, MASKED]
    return [key, sentences.includes(key) ? maskSentences(inner) : maskValue(key, inner)]
  })
  return Object.fromEntries(entries)
}

function maskValue(key: string, value: unknown): unknown {
  if (value === null || typeof value === 'boolean') return value
  if (Object.hasOwn(STORED, key) && STORED[key]?.(value)) return value
  return OPENED.includes(key) ? maskFields(value) : MASKED
}

function maskSentences(value: unknown): unknown {
  if (typeof value === 'string') return maskSentence(value)
  if (Array.isArray(value)) return value.map(maskSentences)
  if (!isObject(value)) return MASKED
  const entries = Object.entries(value).map(([key, inner]) => [
    KEY_FORM.test(key) ? key : MASKED,
    KEY_FORM.test(key) ? maskSentences(inner) : MASKED,
  ])
  return Object.fromEntries(entries)
}

/** Masks e-mails and long numbers. */
function maskSentence(text: string): string {
  if (text.length > SENTENCE_MAX) return MASKED
  const withoutMails = text.replace(WORD, word => (word.includes('@') ? MASKED : word))
  return withoutMails.replace(KEPT_OR_DIGITS, (_, kept) => kept ?? MASKED)
}
