import * as z from 'zod'
import { instant } from '#lib/base/fields.ts'
import { CHARGE_STATUSES } from '#lib/rooms/charges/states.ts'
import type { Home, Steps } from '#lib/views/dashboard/schema.ts'

const received = { amount: z.int(), count: z.int() }
const Received = z.object(received)

const HomeData: z.ZodType<Home> = z.object({
  balance: z.object({
    available: z.int(),
    outbound: z.int(),
    held: z.object({ withdrawals: z.int(), refunds: z.int() }).nullable(),
  }),
  books: z.object({ checked_at: instant, is_right: z.boolean() }).nullable(),
  received: z.object({ today: Received, week: Received, month: Received }),
  conversion: z.number().min(0).max(1).nullable(),
  median_seconds: z.number().min(0).nullable(),
  webhooks: z
    .object({ delivered: z.number().min(0).max(1), mean_ms: z.int().nullable() })
    .nullable(),
  days: z.array(z.object({ day: z.iso.date(), ...received })),
  charges: z.array(
    z.object({
      id: z.uuid(),
      external_id: z.string(),
      client_name: z.string(),
      status: z.enum(CHARGE_STATUSES),
      amount: z.int(),
      created_at: instant,
    }),
  ),
})
export const HomeRead = z.object({ data: HomeData })

const StepsData: z.ZodType<Steps> = z.object({
  token: z.boolean(),
  payment: z.boolean(),
  webhook: z.boolean(),
})
export const StepsRead = z.object({ data: StepsData })

/** Any words will do: days that are none are left out, as in the page's own address. */
export const homeQuery = z.object({
  period: z.string().optional(),
  from: z.string().optional(),
  to: z.string().optional(),
})
