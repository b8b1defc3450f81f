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

/** Kept as it was written: a parser that mends blanks would keep another address than was sent. */
export const httpUrl = z
  .string(must('be a string'))
  .max(2048, must('have at most 2048 characters'))
  .refine(isHttpUrl, must('be an http or https address'))

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

/** An object of free keys, kept as it was sent: a record would drop a key named __proto__. */
export function freeObject(bytesMax: number) {
  return z
    .custom<Record<string, unknown>>(isObject, must('be an object'))
    .refine(value => byteLength(value) <= bytesMax, must(`have at most ${bytesMax} bytes as JSON`))
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function byteLength(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length
}
