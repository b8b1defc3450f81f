import { readPeople } from '#lib/audit/people.ts'
import type { Mode } from '#lib/core/mode.ts'
import type { WaitingWithdrawal } from '#lib/dashboard/timeline-wire.ts'
import { Prisma } from '#lib/db/client.ts'
import { asJson, queryRows, utcText } from '#lib/db/sql.ts'
import { approverRows, mayApproveSql } from '#lib/people/approvers.ts'

/** Maximum waiting withdrawals shown; further ones follow when these are decided. */
const SHOWN_MAX = 100

/** Whether a user may approve withdrawal `w` of account `a`; null: a program, which may not. */
export function canApproveSql(userId: string | null): Prisma.Sql {
  if (userId === null) return Prisma.sql`false`
  return Prisma.sql`
    EXISTS (SELECT FROM ${approverRows(userId)} WHERE ${mayApproveSql('w.approval_barred')})`
}

/** Returns the withdrawals that wait for approval, those that expire first in front. */
export async function listWaiting(
  accountId: string,
  mode: Mode,
  userId: string,
): Promise<WaitingWithdrawal[]> {
  const columns = Prisma.sql`
    w.id, w.amount, w.pix_key_type, w.dict_key, w.approval_reason AS reason, w.requested_by,
    ${utcText('w.created_at')} AS created_at, ${utcText('w.approval_due_at')} AS expires_at,
    ${canApproveSql(userId)} AS can_approve`
  const rows = await queryRows<WaitingWithdrawal & { requested_by: string | null }>(Prisma.sql`
    SELECT ${asJson(columns)}::text AS json FROM withdrawals w JOIN accounts a ON a.id = w.account_id
    WHERE w.account_id = ${accountId}::uuid AND w.mode = ${mode} AND w.approval_due_at IS NOT NULL
    ORDER BY w.id LIMIT ${SHOWN_MAX}`)
  const findPerson = await readPeople(rows.map(row => [accountId, row.requested_by]))
  return rows.map(({ requested_by, ...row }) => ({
    ...row,
    requester: findPerson(accountId, requested_by)?.name ?? null,
  }))
}
