import { adminDoor } from '#lib/edge/http/door.ts'
import { readHealth } from '#lib/views/admin/health.ts'
import { HealthRead } from '#lib/views/admin/health-wire.ts'

export const GET = adminDoor({
  summary: 'Read the system health and stuck jobs',
  answer: HealthRead,
  async handle() {
    return { data: await readHealth() }
  },
})
