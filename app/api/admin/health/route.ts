import { adminDoor } from '#lib/edge/http/door.ts'
import { readHealth } from '#lib/views/admin/health.ts'
import { HealthRead } from '#lib/views/admin/health-wire.ts'

export const GET = adminDoor({
  summary: 'How the system stands, and what is stuck in it',
  answer: HealthRead,
  async handle() {
    return { data: await readHealth() }
  },
})
