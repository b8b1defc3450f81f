import { refuse, type TrocoError } from '#lib/core/errors.ts'
import { Prisma } from '#lib/db/client.ts'

/**
 * Selects from the locked charge `k` and adds what remains to refund: without what refunds take or hold
 * (`unspent`), what is disputed and what was lost. The function prisma/functions/troco_disputed.sql sees a
 * dispute that was opened while the statement waited for the lock.
 */
export const remainingSql = Prisma.sql`
  SELECT k.*, d.disputed, d.lost, k.unspent - d.disputed - d.lost AS remaining
  FROM locked k CROSS JOIN LATERAL troco_disputed(k.account_id, k.id) d`

/** Refuses an amount above what remains. It is negative if a dispute was opened while a refund was held. */
export function refuseAboveRemaining(params: Record<string, string | number>): TrocoError {
  const remaining = Number(params.remaining)
  const rule = describeLimit(remaining, Number(params.disputed), Number(params.lost))
  return refuse('refund_exceeds_remainder', { rule })
}

function describeLimit(remaining: number, disputed: number, lost: number): string {
  if (remaining > 0) return `must be at most ${remaining}, the amount left to refund`
  if (remaining + disputed > 0)
    return 'cannot be refunded while the payer disputes the charge: try again when the dispute has ended'
  const causes = lost > 0 ? 'refunds and lost disputes' : 'refunds'
  return `cannot be refunded: ${causes} already cover the whole charge`
}
