import * as z from 'zod'
import { instant, must } from '#lib/base/fields.ts'
import { isUuid } from '#lib/base/ids.ts'
import { JOB_KINDS } from '#lib/views/admin/schema.ts'

const count = z.int().min(0)

export const HealthRead = z.object({
  data: z.object({
    at: z.string(),
    checks: z.array(
      z.object({
        name: z.string(),
        level: z.enum(['ok', 'warning', 'problem']),
        state: z.string(),
        figures: z.record(z.string(), z.union([z.string(), z.number()])),
      }),
    ),
    workers: z.array(
      z.object({
        id: z.uuid(),
        host: z.string(),
        pid: count,
        started_at: instant,
        silent_s: count,
      }),
    ),
    jobs: z.array(
      z.object({
        kind: z.enum(JOB_KINDS),
        // The database makes those of deliveries, in no version's form.
        id: z.guid(),
        account: z.object({ id: z.uuid(), name: z.string() }).nullable(),
        attempts: count,
        created_at: instant,
        due_at: instant.nullable(),
        is_held: z.boolean(),
        can_run: z.boolean(),
        problem: z.string().nullable(),
      }),
    ),
  }),
})

const id = z.string(must('be an id')).refine(isUuid, must('be an id')).optional()

/** Without an id it means all that are stuck of the kind, whoever's; a mail belongs to no account. */
export const requeueRequest = z
  .object({
    kind: z.enum(JOB_KINDS, must(`be one of ${JOB_KINDS.join(', ')}`)),
    account_id: id,
    id,
  })
  .superRefine(({ kind, account_id, id: one }, context) => {
    if (kind === 'mail' || (one === undefined) === (account_id === undefined)) return
    const path = [one === undefined ? 'id' : 'account_id']
    context.addIssue({ code: 'custom', path, message: 'is required' })
  })
export type RequeueRequest = z.infer<typeof requeueRequest>

export const JobsRequeued = z.object({ data: z.object({ requeued: count }) })
