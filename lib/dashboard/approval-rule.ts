import * as z from 'zod'
import { readPeople } from '#lib/audit/queries.ts'
import { refuse } from '#lib/core/errors.ts'
import { instant } from '#lib/core/fields.ts'
import { isUuid } from '#lib/core/ids.ts'
import type { ApprovalSettings } from '#lib/dashboard/schema.ts'
import { Prisma } from '#lib/db/client.ts'
import { asJson, queryRows, utcText } from '#lib/db/sql.ts'
import { approverRows, inForceSql, mayApproveSql, vouchedRows } from '#lib/people/approvers.ts'

interface StoredSettings extends Omit<ApprovalSettings, 'change'> {
  change: (Omit<StoredChange, 'requester'> & { requested_by: string }) | null
}
type StoredChange = NonNullable<ApprovalSettings['change']>

/**
 * Returns the account's rule, whether it is active, and the change that waits for confirmation.
 * `can_confirm`: the user is an owner, or an admin if `isAdmin`, and not barred by the request.
 */
export async function readApprovalSettings(
  accountId: string,
  userId: string,
  isAdmin = false,
): Promise<ApprovalSettings> {
  if (!isUuid(accountId)) throw refuse('account_not_found')
  const user = isAdmin ? vouchedRows([userId]) : approverRows(userId)
  const isOwner = isAdmin ? Prisma.sql`true` : Prisma.sql`m.role = 'owner'`
  const change = asJson(Prisma.sql`
    c.id, c.new_keys, c.above, c.day_above, c.requested_by, ${utcText('c.expires_at')} AS expires_at,
    EXISTS (SELECT FROM ${user} WHERE ${isOwner} AND ${mayApproveSql('c.barred')}) AS can_confirm`)
  const columns = Prisma.sql`
    a.approval_new_keys AS new_keys, a.approval_above AS above, a.approval_day_above AS day_above,
    ${inForceSql} AS is_in_force, (SELECT count(*)::int FROM ${approverRows()}) AS approvers,
    (SELECT ${change} FROM approval_changes c
      WHERE c.account_id = a.id AND c.expires_at > now()) AS change`
  const [found] = await queryRows<StoredSettings>(Prisma.sql`
    SELECT ${asJson(columns)}::text AS json FROM accounts a WHERE a.id = ${accountId}::uuid`)
  if (!found) throw refuse('account_not_found')
  return { ...found, change: await nameRequester(accountId, found) }
}

async function nameRequester(
  accountId: string,
  { change }: StoredSettings,
): Promise<StoredChange | null> {
  if (!change) return null
  const { requested_by, ...rest } = change
  const findPerson = await readPeople([[accountId, requested_by]])
  return { ...rest, requester: findPerson(accountId, requested_by)?.name ?? '' }
}

export const ApprovalSettingsRead = z.object({
  data: z.object({
    new_keys: z.boolean(),
    above: z.int().nullable(),
    day_above: z.int().nullable(),
    is_in_force: z.boolean(),
    approvers: z.int(),
    change: z
      .object({
        id: z.uuid(),
        new_keys: z.boolean(),
        above: z.int().nullable(),
        day_above: z.int().nullable(),
        requester: z.string(),
        expires_at: instant,
        can_confirm: z.boolean(),
      })
      .nullable(),
  }),
})
