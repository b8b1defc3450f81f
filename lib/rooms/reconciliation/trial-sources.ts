import { Prisma } from '#lib/base/db/client.ts'
import type { OwnSource } from '#lib/rooms/reconciliation/schema.ts'

/** SQL of an id as banks have it, without hyphens. */
export const bare = (column: string) => Prisma.raw(`replace(${column}::text, '-', '')`)

/** Movements of trials of connections. */
export const TRIAL_SOURCES: OwnSource[] = [
  {
    ...{ what: 'payment', movement: 'trial_received', sign: 1 },
    from: Prisma.sql`connection_trials s`,
    byKeys: keys => Prisma.sql`s.end_to_end_id = ANY (${keys}::text[])`,
    keys: Prisma.sql`ARRAY[s.end_to_end_id]`,
    facts: Prisma.sql`'trial_id', s.id, 'end_to_end_id', s.end_to_end_id`,
  },
  {
    ...{ what: 'refund', movement: 'trial_returned', sign: -1 },
    from: Prisma.sql`(SELECT * FROM connection_trials y WHERE y.refund_status IS NOT NULL) s`,
    byKeys: keys => Prisma.sql`s.end_to_end_id = ANY (${keys}::text[])`,
    keys: Prisma.sql`ARRAY[${bare('s.refund_id')}, s.return_id, s.end_to_end_id]`,
    rejected: Prisma.sql`s.refund_status = 'rejected'`,
    facts: Prisma.sql`'trial_id', s.id, 'return_id', s.return_id, 'end_to_end_id', s.end_to_end_id`,
  },
  {
    ...{ what: 'payout', movement: 'trial_sent', sign: -1 },
    from: Prisma.sql`(SELECT y.account_id, y.id, y.payout_id, y.payout_status, y.payout_end_to_end_id,
        y.payout_amount AS amount
      FROM connection_trials y WHERE y.payout_status IS NOT NULL) s`,
    byKeys: keys => Prisma.sql`(s.payout_end_to_end_id = ANY (${keys}::text[])
      OR ${bare('s.payout_id')} = ANY (${keys}::text[]))`,
    keys: Prisma.sql`ARRAY[${bare('s.payout_id')}, s.payout_end_to_end_id]`,
    rejected: Prisma.sql`s.payout_status = 'rejected'`,
    facts: Prisma.sql`'trial_id', s.id, 'status', s.payout_status,
      'end_to_end_id', s.payout_end_to_end_id`,
  },
]
