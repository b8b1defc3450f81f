import * as z from 'zod'
import { ACCOUNT_STATUSES, STATUS_CHANGES_MAX, STATUS_OUTCOMES } from '#lib/accounts/schema.ts'
import { instant, listOf, must } from '#lib/core/fields.ts'
import { isUuid } from '#lib/core/ids.ts'
import { reasonRequest } from '#lib/operator/schema.ts'

export const AccountStatusChange = z.object({
  data: z.object({
    id: z.uuid(),
    status: z.enum(ACCOUNT_STATUSES),
    since: instant,
    reason: z.string().nullable(),
    by: z.string().nullable(),
  }),
})

const IDS_RULE = `contain 1 to ${STATUS_CHANGES_MAX} different account ids`

export const statusChangesRequest = reasonRequest.extend({
  account_ids: listOf(z.string().refine(isUuid, must(IDS_RULE)).toLowerCase(), STATUS_CHANGES_MAX, {
    min: 1,
    rule: IDS_RULE,
  }).refine(ids => new Set(ids).size === ids.length, must(IDS_RULE)),
  status: z.enum(['active', 'suspended'], must('be active or suspended')),
})

export const SecondFactorReset = z.object({
  data: z.object({
    /** False: there was no second factor. */
    is_changed: z.boolean(),
  }),
})

/** In the order of the request. */
export const AccountStatusChanges = z.object({
  data: z.array(z.object({ account_id: z.uuid(), outcome: z.enum(STATUS_OUTCOMES) })),
})

const QUERY_LENGTH_MAX = 255
export const FindAccountsQuery = z.object({
  q: z
    .string(must('be a string'))
    .trim()
    .min(1, must('not be empty'))
    .max(QUERY_LENGTH_MAX, must(`have at most ${QUERY_LENGTH_MAX} characters`)),
})

export const FoundAccounts = z.object({
  data: z.array(
    z.object({
      id: z.uuid(),
      name: z.string(),
      status: z.enum(ACCOUNT_STATUSES),
      owner_email: z.string().nullable(),
    }),
  ),
})
