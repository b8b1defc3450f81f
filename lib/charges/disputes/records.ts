import type { DisputeRow } from '#lib/charges/disputes/schema.ts'
import type { DisputeDetail } from '#lib/charges/disputes/wire.ts'
import { chargeColumns } from '#lib/charges/list.ts'
import type { ListQuery } from '#lib/core/fields.ts'
import { isUuid, newRoutableId } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { currentCause } from '#lib/core/trace.ts'
import { Prisma, type Tx } from '#lib/db/client.ts'
import { type Page, pageSql, readPage } from '#lib/db/page.ts'
import {
  type AccountRef,
  accountCondition,
  asJson,
  columnsOf,
  queryRows,
  utc,
} from '#lib/db/sql.ts'
import { recordEvent } from '#lib/ledger/book.ts'

/** A dispute `d` in wire order. */
const disputeAsJson = asJson(Prisma.sql`
  d.id, d.charge_id AS transaction_id, d.amount, d.lost_amount, d.status, d.mode,
  ${utc('d.respond_by')}, ${utc('d.closed_at')}, ${utc('d.created_at')}, ${utc('d.updated_at')}`)

export async function findDispute(
  account: AccountRef,
  mode: Mode,
  id: string,
): Promise<DisputeDetail | null> {
  if (!isUuid(id)) return null
  const [row] = await queryRows<DisputeDetail>(Prisma.sql`
    SELECT ${disputeAsJson}::text AS json FROM disputes d
    WHERE ${accountCondition('d', account)} AND d.mode = ${mode} AND d.id = ${id}::uuid`)
  return row ?? null
}

export function listDisputes(
  account: AccountRef,
  mode: Mode,
  query: ListQuery,
): Promise<Page<DisputeDetail>> {
  const rows = Prisma.sql`
    SELECT ${disputeAsJson}::text AS json FROM disputes d
    WHERE ${accountCondition('d', account)} AND d.mode = ${mode} ${pageSql('d', query)}`
  return readPage<DisputeDetail>(rows, query.limit)
}

/**
 * Records an event about a dispute, in the transaction that opens or ends it, after all its other
 * statements: the event sequence is locked last. Its subject is the charge, so it follows the payment's event.
 */
export async function recordDisputeEvent(
  tx: Tx,
  event: 'transaction.dispute_opened' | 'transaction.dispute_closed',
  { accountId, id }: DisputeRow,
): Promise<void> {
  const statement = recordEvent({
    ctes: {
      told: Prisma.sql`
        SELECT c.*, ${disputeAsJson} AS dispute FROM disputes d
        JOIN charges c ON c.account_id = d.account_id AND c.id = d.charge_id
        WHERE d.account_id = ${accountId}::uuid AND d.id = ${id}::uuid`,
    },
    source: {
      from: Prisma.sql`told c`,
      columns: {
        ...columnsOf('c', ['account_id', 'mode', 'webhook_url', 'webhook_host']),
        event_id: Prisma.sql`${newRoutableId(accountId)}::uuid`,
        subject_id: Prisma.sql`c.id`,
        resource: asJson(Prisma.sql`${chargeColumns}, c.dispute`),
        trace: Prisma.sql`${currentCause()}::text`,
      },
    },
    event,
    returning: Prisma.sql`json_build_object('id', c.id)`,
  })
  await queryRows(statement, tx)
}
