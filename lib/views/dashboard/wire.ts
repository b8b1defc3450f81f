import * as z from 'zod'
import { instant } from '#lib/base/fields.ts'
import { ListedCharge } from '#lib/rooms/charges/wire.ts'

const Received = z.object({ amount: z.int(), count: z.int() })
/** What came in within some days, and by how many charges. */
export type Received = z.infer<typeof Received>

/** `day` is of the merchant's calendar, such as 2026-11-21. */
const DayReceived = Received.extend({ day: z.iso.date() })
export type DayReceived = z.infer<typeof DayReceived>

const Home = z.object({
  balance: z.object({
    available: z.int(),
    outbound: z.int(),
    /** How many orders `outbound` is held for; null where they are too many to be counted. */
    held: z.object({ withdrawals: z.int(), refunds: z.int() }).nullable(),
  }),
  /** What the last check of the books found; null before the first. */
  books: z.object({ checked_at: instant, is_right: z.boolean() }).nullable(),
  /** What was paid, refunds not taken off: as the statement enters it. */
  received: z.object({ today: Received, week: Received, month: Received }),
  /** Of the charges created in the last 30 days that are paid, expired or failed, the share paid. */
  conversion: z.number().min(0).max(1).nullable(),
  /** From creation to payment, of what was paid in the last 30 days. */
  median_seconds: z.number().min(0).nullable(),
  /** Of the latest deliveries of a week that arrived or were tried; null where there were none. */
  webhooks: z
    .object({ delivered: z.number().min(0).max(1), mean_ms: z.int().nullable() })
    .nullable(),
  /** Every day of the chart, those without payments too. */
  days: z.array(DayReceived),
  charges: z.array(ListedCharge),
})
export type Home = z.infer<typeof Home>
export const HomeRead = z.object({ data: Home })

const Steps = z.object({ token: z.boolean(), payment: z.boolean(), webhook: z.boolean() })
/** Which first steps a new merchant has made. */
export type Steps = z.infer<typeof Steps>
export const StepsRead = z.object({ data: Steps })

/** Any words will do: days that are none are left out, as in the page's own address. */
export const homeQuery = z.object({
  period: z.string().optional(),
  from: z.string().optional(),
  to: z.string().optional(),
})
