import * as z from 'zod'
import { ACCOUNT_STATUSES, STATUS_CHANGES_MAX, STATUS_OUTCOMES } from '#lib/accounts/schema.ts'
import { instant, listOf, must } from '#lib/core/fields.ts'
import { isUuid } from '#lib/core/ids.ts'
import { type Check, JOB_KINDS, reasonRequest, StuckJob, WorkerLine } from '#lib/operator/schema.ts'
import { SUBJECT_KINDS } from '#lib/operator/states.ts'

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

/** Each state with its level, as the type knows them. */
const CheckLine = z.object({
  name: z.string(),
  level: z.enum(['ok', 'warning', 'problem']),
  state: z.string(),
  figures: z.record(z.string(), z.union([z.string(), z.number()])),
  subjects: z
    .array(z.object({ kind: z.enum(SUBJECT_KINDS), id: z.uuid(), name: z.string() }))
    .optional(),
  stuck: z.int().min(1).optional(),
}) as z.ZodType<Check>

export const HealthRead = z.object({
  data: z.object({
    at: z.string(),
    checks: z.array(CheckLine),
    workers: z.array(WorkerLine),
    jobs: z.array(StuckJob),
  }),
})

const id = z.string(must('be a UUID')).refine(isUuid, must('be a UUID')).optional()

/** Without an id: all jobs of the kind in every account. A mail belongs to no account. */
export const requeueRequest = z
  .object({
    kind: z.enum(JOB_KINDS, must(`be one of ${JOB_KINDS.join(', ')}`)),
    account_id: id,
    id,
  })
  .superRefine(({ kind, account_id, id: jobId }, context) => {
    if (kind === 'mail' || (jobId === undefined) === (account_id === undefined)) return
    const path = [jobId === undefined ? 'id' : 'account_id']
    context.addIssue({ code: 'custom', path, message: 'is required' })
  })
export type RequeueRequest = z.infer<typeof requeueRequest>

export const JobsRequeued = z.object({ data: z.object({ requeued: z.int().min(0) }) })
