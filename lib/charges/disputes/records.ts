import type { DisputeRow } from '#lib/charges/disputes/schema.ts'
import type { DisputeDetail } from '#lib/charges/disputes/wire.ts'
import { recordChargeEvents } from '#lib/charges/list.ts'
import type { ListQuery } from '#lib/core/fields.ts'
import { isUuid, newRoutableId } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { Prisma, type Tx } from '#lib/db/client.ts'
import { type Page, pageSql, readPage } from '#lib/db/page.ts'
import { asJson, queryRows, utc } from '#lib/db/sql.ts'

/** A dispute `d` in wire order. */
const disputeAsJson = asJson(Prisma.sql`
  d.id, d.charge_id AS transaction_id, d.amount, d.lost_amount, d.status, d.mode,
  ${utc('d.respond_by')}, ${utc('d.closed_at')}, ${utc('d.created_at')}, ${utc('d.updated_at')}`)

export async function findDispute(
  accountId: string,
  mode: Mode,
  id: string,
): Promise<DisputeDetail | null> {
  if (!isUuid(id)) return null
  const [row] = await queryRows<DisputeDetail>(Prisma.sql`
    SELECT ${disputeAsJson}::text AS json FROM disputes d
    WHERE d.account_id = ${accountId}::uuid AND d.mode = ${mode} AND d.id = ${id}::uuid`)
  return row ?? null
}

export function listDisputes(
  accountId: string,
  mode: Mode,
  query: ListQuery,
): Promise<Page<DisputeDetail>> {
  const rows = Prisma.sql`
    SELECT ${disputeAsJson}::text AS json FROM disputes d
    WHERE d.account_id = ${accountId}::uuid AND d.mode = ${mode} ${pageSql('d', query)}`
  return readPage<DisputeDetail>(rows, query.limit)
}

/** Records an event about a dispute, in the transaction that opens or ends it, after all its other statements. */
export function recordDisputeEvent(
  tx: Tx,
  event: 'transaction.dispute_opened' | 'transaction.dispute_closed',
  { accountId, id }: DisputeRow,
): Promise<void> {
  return recordChargeEvents(
    tx,
    event,
    'dispute',
    Prisma.sql`
      SELECT d.account_id, d.charge_id, ${newRoutableId(accountId)}::uuid AS event_id, ${disputeAsJson} AS cause
      FROM disputes d WHERE d.account_id = ${accountId}::uuid AND d.id = ${id}::uuid`,
  )
}
