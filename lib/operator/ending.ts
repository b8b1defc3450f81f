import { readPeople } from '#lib/audit/queries.ts'
import { isUuid } from '#lib/core/ids.ts'
import { Prisma } from '#lib/db/client.ts'
import { asJson, queryRows, utcText } from '#lib/db/sql.ts'
import type { OrderEnding } from '#lib/operator/schema.ts'
import { lastWordsSql } from '#lib/operator/stuck.ts'
import { endableSql } from '#lib/orders/end.ts'
import { isOpen } from '#lib/orders/order.ts'
import { findOrder, isEndProposed } from '#lib/orders/queue.ts'
import { isSecondAdmin, PROPOSAL_HOURS } from '#lib/people/approvers.ts'

interface EndingRow
  extends Pick<OrderEnding, 'kind' | 'can_propose' | 'bank_text' | 'ended_at' | 'contradiction'> {
  id: string
  outcome: OrderEnding['outcome']
  reason: string | null
  proposed_by: string | null
  confirmed_by: string | null
  expires_at: string
  is_standing: boolean
}

const columns = Prisma.sql`o.kind, ${endableSql} AS can_propose,
  CASE WHEN ${isOpen} THEN (${lastWordsSql('o')}) END AS bank_text,
  o.end_id AS id, o.end_outcome AS outcome,
  o.end_reason AS reason, o.end_proposed_by AS proposed_by, o.end_confirmed_by AS confirmed_by,
  ${utcText(`(o.end_proposed_at + interval '${PROPOSAL_HOURS} hours')`)} AS expires_at,
  ${utcText('o.ended_at')} AS ended_at, o.contradiction,
  (o.ended_at IS NULL AND ${isOpen} AND ${isEndProposed}) AS is_standing`

/** Reads how a live order can be ended, or was; null for any other. */
export async function readEnding(id: string, adminId: string): Promise<OrderEnding | null> {
  const order = isUuid(id) ? await findOrder(id) : null
  const [row] = order
    ? await queryRows<EndingRow>(Prisma.sql`
        SELECT ${asJson(columns)}::text AS json FROM bank_orders o
        WHERE o.account_id = ${order.accountId}::uuid AND o.id = ${id}::uuid AND o.mode = 'live'`)
    : []
  if (!row) return null
  const { proposed_by: first, confirmed_by: second, ...ending } = row
  const findPerson = await readPeople([first, second].map(person => [null, person]))
  const nameOf = (person: string | null) => findPerson(null, person)?.name ?? null
  const { kind, can_propose, bank_text, outcome, reason, ended_at, contradiction } = ending
  const canConfirm = first !== null && (await isSecondAdmin(first, adminId))
  return {
    id,
    kind,
    can_propose,
    bank_text,
    ended_at,
    contradiction,
    ...(ended_at !== null || ending.is_standing
      ? { outcome, reason, proposed_by: nameOf(first), confirmed_by: nameOf(second) }
      : { outcome: null, reason: null, proposed_by: null, confirmed_by: null }),
    proposal: ending.is_standing
      ? { id: ending.id, expires_at: ending.expires_at, can_confirm: canConfirm }
      : null,
  }
}
