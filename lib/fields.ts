import * as z from 'zod'
import { isUuid } from '#lib/ids.ts'

/** The message of a field: what it must be, or that it is missing. The edge puts its name before. */
export function must(rule: string) {
  return {
    error: (issue: { input?: unknown }) =>
      issue.input === undefined ? 'is required' : `must ${rule}`,
  }
}

export function text(lengthMin: number, lengthMax: number) {
  const rule = `have ${lengthMin} to ${lengthMax} characters`
  return z.string(must('be a string')).trim().min(lengthMin, must(rule)).max(lengthMax, must(rule))
}

export function wholeCents(amountMin: number, amountMax: number) {
  const rule = `be a whole number of cents from ${amountMin} to ${amountMax}`
  return z.int(must(rule)).min(amountMin, must(rule)).max(amountMax, must(rule))
}

export const email = z
  .email(must('be an e-mail address such as ana@example.com'))
  .max(254, must('have at most 254 characters'))
  .meta({ examples: ['ana@example.com'] })

/** Kept as it was written: a parser that mends blanks would keep another address than was sent. */
export const httpUrl = z
  .string(must('be a string'))
  .max(2048, must('have at most 2048 characters'))
  .refine(isHttpUrl, must('be an http or https address'))
  .meta({
    format: 'uri',
    description:
      'Where to tell what becomes of it: an http or https address, in live mode https only.',
    examples: ['https://shop.example/webhooks/pix'],
  })

/** In live mode nobody else on the way may read what we tell. */
export const httpsUrl = httpUrl.refine(value => /^https:/i.test(value), must('be an https address'))

function isHttpUrl(value: string): boolean {
  return /^https?:\/\/[^\s\p{C}]+$/iu.test(value) && URL.canParse(value)
}

const EXTERNAL_ID = 'have 1 to 255 printable characters and not the form of a UUID'

export const externalId = z
  .string(must(EXTERNAL_ID))
  .max(255, must(EXTERNAL_ID))
  .regex(/^[^\p{C}]+$/u, must(EXTERNAL_ID))
  .refine(value => value.trim() !== '', must(EXTERNAL_ID))
  .refine(value => !isUuid(value), must(EXTERNAL_ID))
  .meta({
    minLength: 1,
    description:
      'Your own reference, by which you can read it back: printable characters, not in the form of a UUID, used once per account and mode.',
    examples: ['order-1048'],
  })

/** A time in an answer: UTC with microseconds. */
export const instant = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  .meta({ format: 'date-time', examples: ['2026-11-21T01:27:00.123456Z'] })

/** An object of free keys in an answer. */
export const anyObject = z.record(z.string(), z.unknown())

/** An object of free keys, kept as it was sent: a record would drop a key named __proto__. */
export function freeObject(bytesMax: number) {
  return z
    .custom<Record<string, unknown>>(isObject, must('be an object'))
    .refine(value => byteLength(value) <= bytesMax, must(`have at most ${bytesMax} bytes as JSON`))
    .meta({ json: { type: 'object', additionalProperties: true } })
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function byteLength(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length
}

const LIST_MAX = 100
const TIME = 'be a date (2026-11-21) or a time with its zone (2026-11-21T03:00:00Z)'
const LIMIT = `be a whole number from 1 to ${LIST_MAX}`

const moment = z
  .union([z.iso.date(), z.iso.datetime({ offset: true })], must(TIME))
  .refine(value => Date.parse(value) >= 0, must(TIME))

export function listLimit(unlessSaid: number) {
  return z
    .string()
    .regex(/^\d{1,3}$/, must(LIMIT))
    .transform(Number)
    .refine(value => value >= 1 && value <= LIST_MAX, must(LIMIT))
    .default(unlessSaid)
}

/** How a list is asked for; everything arrives as text. */
export function listQuery<const Status extends string>(statuses: readonly Status[]) {
  const reference = z.string().max(255, must('have at most 255 characters'))
  return z.object({
    limit: listLimit(20),
    cursor: z.string().refine(isUuid, must('be the next_cursor of a page before')).optional(),
    status: z.enum(statuses, must(`be one of ${statuses.join(', ')}`)).optional(),
    external_id: reference.optional(),
    created_from: moment.optional(),
    created_to: moment.optional(),
    q: reference.optional(),
  })
}
export type ListQuery = z.infer<ReturnType<typeof listQuery>>
