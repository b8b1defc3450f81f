import * as z from 'zod'
import { ListedCharge } from '#lib/charges/wire.ts'
import { instant } from '#lib/core/fields.ts'

const Received = z.object({ amount: z.int(), count: z.int() })
export type Received = z.infer<typeof Received>

/** `day` is in the merchant's time zone, such as 2026-11-21. */
const DayReceived = Received.extend({ day: z.iso.date() })
export type DayReceived = z.infer<typeof DayReceived>

const Home = z.object({
  balance: z.object({
    available: z.int(),
    outbound: z.int(),
    /** Number of orders for which `outbound` is held; null if there are too many to count. */
    held: z.object({ withdrawals: z.int(), refunds: z.int() }).nullable(),
    /** Withdrawals that are pending for longer than usual and need no approval, sent to the bank or not. */
    waiting: z.object({ count: z.int(), amount: z.int() }),
    /** What payers dispute, how much of it is held, and what is owed for lost disputes. */
    disputes: z.object({ disputed: z.int(), held: z.int(), claim: z.int() }),
  }),
  /** Result of the last ledger check; null before the first check. */
  books: z.object({ checked_at: instant, is_right: z.boolean() }).nullable(),
  /** Paid amounts, before refunds, as in the statement. */
  received: z.object({ today: Received, week: Received, month: Received }),
  /** Paid share of the charges of the last 30 days that are paid, expired or failed. */
  conversion: z.number().min(0).max(1).nullable(),
  /** Median time from creation to payment of charges paid in the last 30 days. */
  median_seconds: z.number().min(0).nullable(),
  /** The last week's latest attempted deliveries, without stopped ones; null if there are none. */
  webhooks: z
    .object({ delivered: z.number().min(0).max(1), mean_ms: z.int().nullable() })
    .nullable(),
  days: z.array(DayReceived),
  charges: z.array(ListedCharge),
})
export type Home = z.infer<typeof Home>
export const HomeRead = z.object({ data: Home })

const Steps = z.object({ token: z.boolean(), payment: z.boolean(), webhook: z.boolean() })
export type Steps = z.infer<typeof Steps>
export const StepsRead = z.object({ data: Steps })

/** Any text is accepted: invalid days are dropped, as in the page's own URL. */
export const homeQuery = z.object({
  period: z.string().optional(),
  from: z.string().optional(),
  to: z.string().optional(),
})
