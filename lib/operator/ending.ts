import { readPeople } from '#lib/audit/people.ts'
import { isUuid } from '#lib/core/ids.ts'
import { Prisma } from '#lib/db/client.ts'
import { utcText } from '#lib/db/columns.ts'
import { asJson, queryRows } from '#lib/db/rows.ts'
import type { WithdrawalEnding } from '#lib/operator/schema.ts'
import { isOpen } from '#lib/orders/order.ts'
import { isEndProposed, PROPOSAL_HOURS } from '#lib/orders/queue.ts'
import { isSecondAdmin } from '#lib/people/admins.ts'
import { endableSql } from '#lib/withdrawals/end.ts'

interface EndingRow extends Pick<WithdrawalEnding, 'can_propose' | 'ended_at' | 'contradiction'> {
  id: string
  outcome: WithdrawalEnding['outcome']
  reason: string | null
  proposed_by: string | null
  confirmed_by: string | null
  expires_at: string
  is_standing: boolean
}

const columns = Prisma.sql`${endableSql} AS can_propose, o.end_id AS id, o.end_outcome AS outcome,
  o.end_reason AS reason, o.end_proposed_by AS proposed_by, o.end_confirmed_by AS confirmed_by,
  ${utcText(`(o.end_proposed_at + interval '${PROPOSAL_HOURS} hours')`)} AS expires_at,
  ${utcText('o.ended_at')} AS ended_at, o.contradiction,
  (o.ended_at IS NULL AND ${isOpen} AND ${isEndProposed}) AS is_standing`

/** Reads how a live withdrawal can be ended, or was; null for any other. */
export async function readEnding(
  accountId: string,
  id: string,
  adminId: string,
): Promise<WithdrawalEnding | null> {
  if (![accountId, id].every(isUuid)) return null
  const [row] = await queryRows<EndingRow>(Prisma.sql`
    SELECT ${asJson(columns)}::text AS json FROM bank_orders o
    WHERE o.account_id = ${accountId}::uuid AND o.id = ${id}::uuid AND o.kind = 'withdrawal' AND o.mode = 'live'`)
  if (!row) return null
  const { proposed_by: first, confirmed_by: second, ...ending } = row
  const findPerson = await readPeople([first, second].map(person => [null, person]))
  const nameOf = (person: string | null) => findPerson(null, person)?.name ?? null
  const { can_propose, outcome, reason, ended_at, contradiction } = ending
  const canConfirm = first !== null && (await isSecondAdmin(first, adminId))
  return {
    ...{ can_propose, ended_at, contradiction },
    ...(ended_at !== null || ending.is_standing
      ? { outcome, reason, proposed_by: nameOf(first), confirmed_by: nameOf(second) }
      : { outcome: null, reason: null, proposed_by: null, confirmed_by: null }),
    proposal: ending.is_standing
      ? { id: ending.id, expires_at: ending.expires_at, can_confirm: canConfirm }
      : null,
  }
}
