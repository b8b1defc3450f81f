import * as z from 'zod'
import { isRawNumber } from '#lib/core/exact-json.ts'
import { isUuid } from '#lib/core/ids.ts'
import { LOCALES } from '#lib/core/locale.ts'
import { MODES } from '#lib/core/mode.ts'

/** `is required` if the field is missing, else `must …`; the endpoint prepends the field's name. */
export function must(rule: string) {
  return {
    error: (issue: { input?: unknown }) =>
      issue.input === undefined ? 'is required' : `must ${rule}`,
  }
}

/** Where JSON Schema has no equivalent, `like` in the metadata is a schema of the same values. */
export function openApiMeta(description: string, ...examples: unknown[]) {
  return examples.length > 0 ? { description, examples } : { description }
}

const NO_CONTROL_CHARACTERS = /^\P{C}*$/u
const CONTROL_CHARACTERS = /\p{C}+/gu

/** One line: line breaks, control and format characters are refused. */
export function text(lengthMin: number, lengthMax: number) {
  return longText(lengthMin, lengthMax).regex(
    NO_CONTROL_CHARACTERS,
    must('contain no line breaks or control characters'),
  )
}

/** Text that may have several lines. */
export function longText(lengthMin: number, lengthMax: number) {
  const rule = `have ${lengthMin} to ${lengthMax} characters`
  return z.string(must('be a string')).trim().min(lengthMin, must(rule)).max(lengthMax, must(rule))
}

/** Name of an account or a person: mails show it, and a web address in it would become a link. */
export function properName(lengthMax: number) {
  return text(1, lengthMax).refine(
    value => !/:\/\/|www\./i.test(value),
    must('contain no web address'),
  )
}

/**
 * One line of the operations of the specification: control and format characters are dropped, and
 * `listCleaned` names the field. Elsewhere they are refused.
 */
export function cleanedText() {
  return z.string(must('be a string')).overwrite(value => value.replace(CONTROL_CHARACTERS, ''))
}

/** Lists the fields among `names` from which `cleanedText` drops characters. */
export function listCleaned(content: Record<string, unknown>, names: readonly string[]): string[] {
  return names.filter(name => {
    const value = content[name]
    return typeof value === 'string' && !NO_CONTROL_CHARACTERS.test(value)
  })
}

export function wholeCents(amountMin: number, amountMax: number) {
  const rule = `be a whole number of cents from ${amountMin} to ${amountMax}`
  return z.int(must(rule)).min(amountMin, must(rule)).max(amountMax, must(rule))
}

/**
 * A list whose length is checked before its elements, each of which may cost a message: a body has room for
 * 32,000. `rule` is for what is not a list or has too few elements.
 */
export function listOf<Element extends z.ZodType>(
  element: Element,
  max: number,
  { min = 0, rule = 'be a list' } = {},
) {
  return z
    .array(z.unknown(), must(rule))
    .min(min, must(rule))
    .max(max, must(`have at most ${max} entries`))
    .pipe(z.array(element))
    .meta({ like: z.array(element).min(min).max(max) })
}

export const email = z
  .email(must('be an e-mail address such as ana@example.com'))
  .max(254, must('have at most 254 characters'))

/** User name and password of a URL, as URL parsers find them. */
const USER_INFO = /^(https?:[/\\]+)[^/?#\\]*@/i
export function hasUserInfo(url: string): boolean {
  const parsed = URL.parse(url)
  return parsed !== null && parsed.username + parsed.password !== ''
}

/**
 * A string, not a parsed URL: parsing would normalize the URL and change what is stored. A user name
 * and password are masked: nothing is sent to such a URL, and every reader of the resource would see them.
 */
export const httpUrl = z
  .string(must('be a string'))
  .max(2048, must('have at most 2048 characters'))
  .refine(isHttpUrl, must('be an http or https address'))
  .overwrite(text => (hasUserInfo(text) ? text.replace(USER_INFO, '$1***@') : text))
  .meta({ format: 'uri', examples: ['https://shop.example/hooks/pix'] })

/** URL for live mode: webhooks must be encrypted in transit. */
export const httpsUrl = httpUrl.refine(value => /^https:/i.test(value), must('be an https address'))

function isHttpUrl(value: string): boolean {
  return /^https?:\/\/[^\s\p{C}]+$/iu.test(value) && URL.canParse(value)
}

const REFERENCE_DESCRIPTION =
  'Your own reference, by which the resource can also be read: printable characters, not a UUID. Unique per account and mode, and a second use responds 409, unless the settings of the account allow charges to repeat it.'
const EXTERNAL_ID_RULE = 'have 1 to 255 printable characters and not be a UUID'

export const externalId = z
  .string(must('be a string, such as "1048"'))
  .max(255, must(EXTERNAL_ID_RULE))
  .regex(/^[^\p{C}]+$/u, must(EXTERNAL_ID_RULE))
  .refine(value => value.trim() !== '', must(EXTERNAL_ID_RULE))
  .refine(value => !isUuid(value), must(EXTERNAL_ID_RULE))
  // URL parsers drop such a segment of a path, so the resource could not be read by it.
  .refine(value => value !== '.' && value !== '..', must('not be . or ..'))
  .meta({ ...openApiMeta(REFERENCE_DESCRIPTION, 'order-1048'), minLength: 1 })

/** Mode of a resource in a response. */
export const modeField = z
  .enum(MODES)
  .meta({ id: 'Mode', ...openApiMeta('Test or live mode.', 'test') })

/** A time in a response: UTC with microseconds. */
export const instant = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  .meta({
    ...openApiMeta('UTC, with microseconds.', '2026-11-21T01:27:00.123456Z'),
    format: 'date-time',
  })

/** Copies the fields of a shape from a row, in the shape's order, and omits all others. */
export function pickFields<Shape extends z.ZodRawShape>(
  shape: Shape,
  row: z.infer<z.ZodObject<Shape>>,
): z.infer<z.ZodObject<Shape>> {
  const picked: Record<string, unknown> = {}
  for (const name in shape) picked[name] = (row as Record<string, unknown>)[name]
  return picked as z.infer<z.ZodObject<Shape>>
}

export const anyObject = z.record(z.string(), z.unknown())

/** Not z.record, which would drop a key named `__proto__`. */
export function freeObject(bytesMax: number, keysMax?: number) {
  const object = z
    .custom<Record<string, unknown>>(isObject, must('be an object'))
    .refine(value => byteLength(value) <= bytesMax, must(`have at most ${bytesMax} bytes as JSON`))
  return z.preprocess(toObject, object).meta({ like: anyObject.meta({ maxProperties: keysMax }) })
}

/** PHP writes an empty map as an empty list. */
function toObject(value: unknown): unknown {
  return Array.isArray(value) && value.length === 0 ? {} : value
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value)
}

function byteLength(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length
}

const NEXT_CURSOR_DESCRIPTION =
  'Send it as `cursor` to read the next page. Null on the last page, and only there: a page of large entries has fewer than `limit`.'

const Page = z
  .object({ next_cursor: z.string().nullable().meta(openApiMeta(NEXT_CURSOR_DESCRIPTION, null)) })
  .meta({ id: 'Page', ...openApiMeta('Fields of every page of a list.') })

/** Schema of a page of entries. `more` are further fields of the page. */
export function pageOf<Entry extends z.ZodType, More extends z.ZodRawShape = Record<never, never>>(
  entry: Entry,
  more = {} as More,
) {
  const entries = z.array(entry).meta(openApiMeta('Newest first.'))
  return z.intersection(z.object({ data: entries, ...more }), Page)
}

const LIST_LIMIT_MAX = 100
const TIME_RULE = 'be a date (2026-11-21) or a time with a UTC offset (2026-11-21T03:00:00Z)'
const TIME_LENGTH_MAX = 40
const LIMIT_MEANING =
  'Maximum number of entries. A page has at most 256 KiB, and so may have fewer.'
const LIMIT_RULE = `be a whole number from 1 to ${LIST_LIMIT_MAX}`

/** A date or a time with a UTC offset, since 1970. */
export const timeFilter = z
  .union([z.iso.date(), z.iso.datetime({ offset: true })], {
    error: ({ input }) =>
      input === undefined
        ? 'is required'
        : / \d\d:?\d\d$/.test(String(input))
          ? 'must be percent-encoded: write + as %2B, as in 2026-11-21T03:00:00%2B00:00'
          : `must ${TIME_RULE}`,
  })
  .refine(isParsableTime, must(TIME_RULE))

/** Accepts times since 1970 that PostgreSQL parses (UTC offsets below 16 hours). */
function isParsableTime(value: string): boolean {
  return (
    value.length <= TIME_LENGTH_MAX &&
    Date.parse(value) >= 0 &&
    !/[+-](1[6-9]|2\d):\d\d$/.test(value)
  )
}

export function listLimit(defaultLimit: number) {
  return z
    .string()
    .regex(/^\d{1,3}$/, must(LIMIT_RULE))
    .transform(Number)
    .refine(value => value >= 1 && value <= LIST_LIMIT_MAX, must(LIMIT_RULE))
    .default(defaultLimit)
    .meta({
      like: z.int().min(1).max(LIST_LIMIT_MAX).default(defaultLimit),
      ...openApiMeta(LIMIT_MEANING, defaultLimit),
    })
}

const CURSOR_EXAMPLE = '01a1fbb6-bf1b-7d40-9b0e-5f0f2d1c88aa'
const TIME_DESCRIPTION = 'a date (midnight UTC) or a time with a UTC offset.'

/** Builds the query schema of a list. `searchDescription` documents which columns `q` searches. */
export function listQuery<const Status extends string>(
  statuses: readonly Status[],
  searchDescription = 'Search text.',
) {
  const filterText = z.string().max(255, must('have at most 255 characters'))
  return z.object({
    limit: listLimit(20),
    cursor: z
      .string()
      .refine(isUuid, must('be the next_cursor of a previous page'))
      .optional()
      .meta({
        ...openApiMeta('The `next_cursor` of the previous page.', CURSOR_EXAMPLE),
        format: 'uuid',
      }),
    status: z
      .enum(statuses, must(`be one of ${statuses.join(', ')}`))
      .optional()
      .meta(openApiMeta('Only entries with this status.', statuses[0])),
    external_id: filterText
      .optional()
      .meta(openApiMeta('Only the entry with this `external_id`.', 'order-1048')),
    created_from: timeFilter
      .optional()
      .meta(openApiMeta(`Created at or after: ${TIME_DESCRIPTION}`, '2026-11-01')),
    created_to: timeFilter
      .optional()
      .meta(openApiMeta(`Created before: ${TIME_DESCRIPTION}`, '2026-12-01')),
    q: filterText.optional().meta(openApiMeta(searchDescription, 'ana')),
  })
}
export type ListQuery = z.infer<ReturnType<typeof listQuery>>

/** Language of a file to be saved. */
export const fileLocale = z.enum(LOCALES, must(`be one of ${LOCALES.join(', ')}`))

/** A query parameter that may be repeated: entries with any of the values match. */
export function repeatable<const Value extends string>(values: readonly Value[]) {
  const isKnown = (list: unknown) => (list as Value[]).every(value => values.includes(value))
  const list = z.custom<Value[]>(
    isKnown,
    must(`be one of ${values.join(', ')}; repeat the parameter for several`),
  )
  repeatableSchemas.add(list)
  return list
}

const KEYS_MAX = 20

/** A query parameter of the form `name[key]=value`, as pairs: a record would drop the key __proto__. */
export function keyed(keyLengthMax: number, valueLengthMax: number) {
  const rule = `be sent as name[key]=value, with 1 to ${keyLengthMax} characters in the key and at most ${valueLengthMax} in the value`
  const isPair = ([key = '', value = '']: string[]) =>
    key !== '' && key.length <= keyLengthMax && value.length <= valueLengthMax
  const pairs = z
    .custom<[string, string][]>(list => (list as string[][]).every(isPair), must(rule))
    .refine(list => list.length <= KEYS_MAX, must(`have at most ${KEYS_MAX} keys`))
  keyedSchemas.add(pairs)
  return pairs
}

const repeatableSchemas = new WeakSet<object>()
const keyedSchemas = new WeakSet<object>()

/** Says how a parameter is sent: once, repeated, or with keys. */
export function formOf(schema: unknown): 'single' | 'repeatable' | 'keyed' {
  const inner = schema instanceof z.ZodOptional ? schema.unwrap() : schema
  if (repeatableSchemas.has(inner as object)) return 'repeatable'
  return keyedSchemas.has(inner as object) ? 'keyed' : 'single'
}

/** Response of an action that returns nothing. */
export const EmptyResponse = z.object({ data: z.object({}) })

// ASCII only: a look-alike of a registered e-mail must not become a second user.
const EMAIL = /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/

const TYPED_EMAIL_MAX = 1_024
const ASCII_SPACES_AROUND = /^[ \t\n\v\f\r]+|(?<![ \t\n\v\f\r])[ \t\n\v\f\r]+$/g

/** Trims and lower-cases in ASCII only, as the database's `users_email_ascii` requires. */
export function normalizeEmail(text: string): string | null {
  if (text.length > TYPED_EMAIL_MAX) return null
  const email = lowerAscii(text.replace(ASCII_SPACES_AROUND, ''))
  return email.length <= 254 && EMAIL.test(email) ? email : null
}

/** Lower-cases A to Z only: other foldings can turn two different texts into one. */
export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]/g, letter => letter.toLowerCase())
}

/** English sentences by code, with placeholders `{name}` for the parameters. */
type MessageTemplates = Record<string, string>

type PlaceholderNames<Sentence> = Sentence extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PlaceholderNames<Rest>
  : never

export type CodeWithoutParamsOf<Set extends MessageTemplates> = {
  [Code in keyof Set & string]: [PlaceholderNames<Set[Code]>] extends [never] ? Code : never
}[keyof Set & string]

/** A code of `Set`, with the values for the placeholders of its sentence. */
export type ReasonOf<Set extends MessageTemplates> =
  | { code: CodeWithoutParamsOf<Set>; params: Record<never, never> }
  | {
      [Code in Exclude<keyof Set & string, CodeWithoutParamsOf<Set>>]: {
        code: Code
        params: Record<PlaceholderNames<Set[Code]>, ReasonParam>
      }
    }[Exclude<keyof Set & string, CodeWithoutParamsOf<Set>>]

type ReasonParam = string | number
export type ReasonParams = Record<string, ReasonParam>

export const reasonParams = z.record(z.string(), z.union([z.string(), z.number()]))

export function formatReason(
  templates: MessageTemplates,
  { code, params }: { code: string; params: ReasonParams },
): string {
  return (templates[code] ?? '').replace(/\{(\w+)\}/g, (_, name) => String(params[name] ?? ''))
}
