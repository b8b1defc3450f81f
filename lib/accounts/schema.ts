import * as z from 'zod'
import { about, must, text } from '#lib/fields.ts'
import { foldText } from '#lib/pix/br-code.ts'

/**
 * active: everything works. pending: waits for an admin. suspended: its tokens are refused and its
 * people may only read; money already on its way still arrives.
 */
export const ACCOUNT_STATUSES = ['active', 'pending', 'suspended'] as const
export type AccountStatus = (typeof ACCOUNT_STATUSES)[number]

export type Role = 'owner' | 'finance' | 'developer' | 'viewer'

export interface Account {
  id: string
  name: string
  city: string
  status: AccountStatus
  expiresIn: number
}

/** What a payer's bank shows of a name, and the room that a code has for a city. */
export const SHOWN_NAME_MAX = 25
const CITY_MAX = 15
const EXPIRES_IN = 'be a whole number of seconds from 60 to 2592000'

/** Written on one line, with something left of it where a code takes plain letters only. */
function printable(lengthMax: number) {
  return text(1, lengthMax)
    .regex(/^[^\p{C}]+$/u, must('be on one line'))
    .refine(value => foldText(value) !== '', must('have letters or digits'))
}

const AccountChange = z.object({
  name: printable(100).meta(about('As payers and their banks are shown it.')),
  city: printable(CITY_MAX),
  expires_in: z.int(must(EXPIRES_IN)).min(60, must(EXPIRES_IN)).max(2_592_000, must(EXPIRES_IN)),
  time_zone: z.string().refine(isTimeZone, must('be a time zone such as America/Sao_Paulo')),
})
export type AccountChange = z.infer<typeof AccountChange>
export const accountChange = { test: AccountChange, live: AccountChange }

/** By its name in the database of time zones, spelled as there. */
function isTimeZone(name: string): boolean {
  return name === 'UTC' || Intl.supportedValuesOf('timeZone').includes(name)
}
