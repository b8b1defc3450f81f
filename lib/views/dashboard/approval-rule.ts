import * as z from 'zod'
import { Prisma } from '#lib/base/db/client.ts'
import { utcText } from '#lib/base/db/columns.ts'
import { asJson, queryRows } from '#lib/base/db/rows.ts'
import { refuse } from '#lib/base/errors.ts'
import { instant } from '#lib/base/fields.ts'
import { isUuid } from '#lib/base/ids.ts'
import { approverCondition, inForceCondition, vouchersSql } from '#lib/services/people/approvers.ts'
import type { ApprovalSettings } from '#lib/views/dashboard/schema.ts'

/** Returns the account's rule, whether it is in force, and the change that waits. */
export async function readApprovalSettings(
  accountId: string,
  userId: string,
): Promise<ApprovalSettings> {
  const change = asJson(Prisma.sql`
    c.id, c.new_keys, c.above, (SELECT u.name FROM users u WHERE u.id = c.requested_by) AS requester,
    ${utcText('c.expires_at')} AS expires_at,
    EXISTS (SELECT FROM memberships m JOIN users u ON u.id = m.user_id
      WHERE m.account_id = a.id AND m.user_id = ${userId}::uuid AND m.role = 'owner'
        AND ${approverCondition} AND NOT c.barred && ${vouchersSql}) AS can_confirm`)
  const columns = Prisma.sql`
    a.approval_new_keys AS new_keys, a.approval_above AS above, ${inForceCondition} AS is_in_force,
    (SELECT count(*)::int FROM memberships m JOIN users u ON u.id = m.user_id
      WHERE m.account_id = a.id AND ${approverCondition}) AS approvers,
    (SELECT ${change} FROM approval_changes c
      WHERE c.account_id = a.id AND c.expires_at > now()) AS change`
  const [found] = isUuid(accountId)
    ? await queryRows<ApprovalSettings>(Prisma.sql`
        SELECT ${asJson(columns)}::text AS json FROM accounts a WHERE a.id = ${accountId}::uuid`)
    : []
  if (!found) throw refuse('account_not_found')
  return found
}

export const ApprovalSettingsRead = z.object({
  data: z.object({
    new_keys: z.boolean(),
    above: z.int().nullable(),
    is_in_force: z.boolean(),
    approvers: z.int(),
    change: z
      .object({
        id: z.uuid(),
        new_keys: z.boolean(),
        above: z.int().nullable(),
        requester: z.string(),
        expires_at: instant,
        can_confirm: z.boolean(),
      })
      .nullable(),
  }),
})
