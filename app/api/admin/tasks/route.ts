import { adminEndpoint } from '#lib/http/endpoint.ts'
import { listStaffTasks } from '#lib/operator/health.ts'
import { StaffTaskList } from '#lib/operator/schema.ts'

export const GET = adminEndpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'List what waits for a person of the staff, the most urgent first',
  response: StaffTaskList,
  async handle() {
    return { data: await listStaffTasks() }
  },
})
