import { requireActor } from '#lib/audit/record.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { requeueJobs } from '#lib/operator/stuck.ts'
import { JobsRequeued, requeueRequest } from '#lib/operator/wire.ts'

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Requeue one stuck job, or all of a kind',
  body: requeueRequest,
  response: JobsRequeued,
  errorCodes: ['job_not_found', 'under_way', 'endpoint_disabled', 'delivery_not_found'],
  proof: 'required',
  async handle({ user, body }) {
    return { data: { requeued: await requeueJobs(body, requireActor(user.id)) } }
  },
})
