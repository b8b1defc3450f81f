import * as z from 'zod'
import { Prisma } from '#lib/base/db/client.ts'
import { reasonColumns, utc } from '#lib/base/db/columns.ts'
import { instant } from '#lib/base/fields.ts'
import { reasonParams } from '#lib/base/reason.ts'
import { REJECTION_CODES } from '#lib/services/gateway/rejection.ts'
import { Attempt } from '#lib/services/webhooks/delivery-wire.ts'

const { problem, problem_code, problem_params, response_status } = Attempt.shape

export const attemptStep = z.object({
  what: z.literal('told'),
  at: instant,
  host: z.string(),
  number: z.int(),
  ...{ response_status, problem, problem_code, problem_params },
})

export const attemptColumns = Prisma.sql`
  ${utc('a.created_at', 'at')}, d.host, a.number, a.response_status, a.problem,
  ${reasonColumns('a', 'problem')}`

export const rejectionFields = {
  rejection_code: z.enum(REJECTION_CODES).nullable(),
  rejection_params: reasonParams.nullable(),
}
