import { Prisma } from '#lib/base/db/client.ts'
import { queryRows } from '#lib/base/db/rows.ts'
import type { Finding } from '#lib/views/admin/schema.ts'

/** Twice the interval of the checks (one day): a chain checked longer ago is a warning. */
const UNCHECKED_AFTER_S = 2 * 86_400
const NAMED_MAX = 5

interface Figures {
  links: number
  wrong: number
  /** What is wrong, one sentence per chain. */
  found: string | null
  /** Seconds since the last check of the chain that has waited longest. */
  waits_s: number | null
}

export async function examineAuditLog(): Promise<Finding> {
  const [row] = await queryRows<Figures>(Prisma.sql`
    SELECT json_build_object('links', COALESCE(sum(length), 0), 'wrong', count(wrong),
      'found', (SELECT string_agg(w.wrong, '; ') FROM (
        SELECT wrong FROM audit_chains WHERE wrong IS NOT NULL ORDER BY chain LIMIT ${NAMED_MAX}) w),
      'waits_s', max(extract(epoch FROM now() - COALESCE(checked_at, created_at)))::int)::text AS json
    FROM audit_chains`)
  const { links, wrong, found, waits_s } = row as Figures
  const figures = { links, wrong, found: found ?? '', waits_s: waits_s ?? 0 }
  if (wrong > 0) return { level: 'problem', state: 'audit_wrong', figures }
  return figures.waits_s > UNCHECKED_AFTER_S
    ? { level: 'warning', state: 'audit_unchecked', figures }
    : { level: 'ok', state: 'audit_right', figures }
}
