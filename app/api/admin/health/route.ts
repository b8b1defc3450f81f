import { readHealth } from '#lib/admin/health.ts'
import { HealthRead } from '#lib/admin/health-wire.ts'
import { adminDoor } from '#lib/http/door.ts'

export const GET = adminDoor({
  summary: 'How the system stands, and what is stuck in it',
  answer: HealthRead,
  async handle() {
    return { data: await readHealth() }
  },
})
