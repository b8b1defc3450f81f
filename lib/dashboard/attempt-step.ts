import { Prisma } from '#lib/db/client.ts'
import { reasonColumns, utc } from '#lib/db/sql.ts'

export const attemptColumns = Prisma.sql`
  ${utc('a.created_at', 'at')}, d.host, a.number, a.response_status, a.problem,
  ${reasonColumns('a', 'problem')}`
