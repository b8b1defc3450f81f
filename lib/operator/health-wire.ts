import * as z from 'zod'
import { must } from '#lib/core/fields.ts'
import { isUuid } from '#lib/core/ids.ts'
import { JOB_KINDS, StuckJob, WorkerLine } from '#lib/operator/schema.ts'
import { SUBJECT_KINDS } from '#lib/operator/states.ts'

export const HealthRead = z.object({
  data: z.object({
    at: z.string(),
    checks: z.array(
      z.object({
        name: z.string(),
        level: z.enum(['ok', 'warning', 'problem']),
        state: z.string(),
        figures: z.record(z.string(), z.union([z.string(), z.number()])),
        subjects: z
          .array(z.object({ kind: z.enum(SUBJECT_KINDS), id: z.uuid(), name: z.string() }))
          .optional(),
        stuck: z.int().min(1).optional(),
      }),
    ),
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
