import { db } from '#lib/base/db/client.ts'
import type { Finding } from '#lib/views/admin/schema.ts'

const NAMED_MAX = 5
/** Afterwards somebody has looked, or nobody will; the audit log keeps the record. */
const SHOWN_DAYS = 30

/** Looks for withdrawals that people ended one way and the bank, later, another. */
export async function examineEnded(): Promise<Finding> {
  const contradicted = await db().$queryRaw<{ id: string }[]>`
    SELECT id FROM withdrawals
    WHERE contradicted_at > now() - ${SHOWN_DAYS} * interval '1 day'
    ORDER BY contradicted_at DESC`
  if (contradicted.length === 0) return { level: 'ok', state: 'ends_agree', figures: {} }
  const names = contradicted.slice(0, NAMED_MAX).map(({ id }) => id)
  const figures = { count: contradicted.length, names: names.join(', ') }
  return { level: 'problem', state: 'ends_contradicted', figures }
}
