import { adminEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { readHealth } from '#lib/views/admin/health.ts'
import { HealthRead } from '#lib/views/admin/health-wire.ts'

export const GET = adminEndpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'Read the system health and stuck jobs',
  response: HealthRead,
  async handle() {
    return { data: await readHealth() }
  },
})
