import { adminEndpoint } from '#lib/http/endpoint.ts'
import { readHealth } from '#lib/operator/health.ts'
import { HealthRead } from '#lib/operator/wire.ts'

export const GET = adminEndpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'Read the system health and stuck jobs',
  response: HealthRead,
  async handle() {
    return { data: await readHealth() }
  },
})
