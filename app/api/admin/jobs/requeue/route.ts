import { JobsRequeued, requeueRequest } from '#lib/admin/health-wire.ts'
import { requeueJobs } from '#lib/admin/requeue.ts'
import { actorOf } from '#lib/audit/note.ts'
import { adminDoor } from '#lib/http/door.ts'

export const POST = adminDoor({
  summary: 'Run stuck work now: one job, or all of a kind',
  body: requeueRequest,
  answer: JobsRequeued,
  refuses: ['job_not_found', 'under_way', 'endpoint_disabled', 'delivery_not_found'],
  takesProof: true,
  async handle({ user, body }) {
    return { data: { requeued: await requeueJobs(body, actorOf(user.id)) } }
  },
})
