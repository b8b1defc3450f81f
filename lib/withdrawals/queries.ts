import { Prisma } from '#lib/db/client.ts'
import { utc } from '#lib/db/columns.ts'

/** The columns of a WithdrawalRow, from a table or CTE named `w`. */
export const withdrawalColumns = Prisma.sql`
  w.id, w.external_id, w.mode, w.status, w.amount, w.pix_key_type, w.pix_key, w.webhook_url,
  w.rejection_reason, w.end_to_end_id, ${utc('w.approved_at')}, ${utc('w.rejected_at')},
  ${utc('w.created_at')}, ${utc('w.updated_at')}`
