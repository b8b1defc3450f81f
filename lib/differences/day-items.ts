import { newRoutableId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { Prisma, type Tx } from '#lib/db/client.ts'
import { asJson, homeZone, queryRows } from '#lib/db/sql.ts'
import { isOrderCorrected } from '#lib/differences/corrections.ts'
import { type DifferenceKind, MATCHED_LATER } from '#lib/differences/differences.ts'

export interface DayItem {
  kind: Extract<DifferenceKind, `day_${string}`>
  /** Of all differences of the connection, this one. */
  key: string
  facts: object
}

/**
 * Reports the differences of a day, each once, and resolves those that are found no more, or that are about an
 * order whose money an entry has moved. One that people have resolved stays so; one that had ended by itself is
 * open again.
 */
export async function reportDay(
  tx: Tx,
  { connectionId, day }: { connectionId: string; day: string },
  items: DayItem[],
): Promise<void> {
  const list = (pick: (item: DayItem) => string) => items.map(pick)
  const [kinds, keys] = [list(({ kind }) => kind), list(({ key }) => key)]
  await tx.$executeRaw`
    INSERT INTO differences (id, connection_id, kind, key, facts, day)
    SELECT s.id, ${connectionId}::uuid, s.kind, s.key, s.facts::json, ${day}::date
    FROM unnest(${list(() => newRoutableId(OPERATOR_ACCOUNT_ID))}::uuid[], ${kinds}::text[],
      ${keys}::text[], ${list(({ facts }) => JSON.stringify(facts))}::text[]) AS s (id, kind, key, facts)
    ON CONFLICT (connection_id, kind, key) DO UPDATE
    SET facts = excluded.facts, resolved_at = NULL, resolution = NULL
    WHERE differences.resolved_at IS NULL OR differences.resolution = ${MATCHED_LATER}`
  await tx.$executeRaw`
    UPDATE differences i SET resolved_at = now(), resolution = ${MATCHED_LATER}
    WHERE i.connection_id = ${connectionId}::uuid AND i.day = ${day}::date AND i.kind LIKE 'day%'
      AND (i.resolved_at IS NULL OR i.resolution = 'acknowledge') AND (NOT EXISTS (
          SELECT FROM unnest(${kinds}::text[], ${keys}::text[]) AS s (kind, key)
          WHERE s.kind = i.kind AND s.key = i.key)
        OR ${isOrderCorrected})`
}

export interface OpenDayItem {
  id: string
  kind: DifferenceKind
  key: string
  facts: Record<string, unknown>
}

/** Condition that an item `i` belongs to a day: it is about the day, or about a payment of it. */
const isOfDay = (day: string) => Prisma.sql`COALESCE(i.day,
  ((i.facts ->> 'paid_at')::timestamptz AT TIME ZONE ${homeZone})::date) = ${day}::date`

/** Lists the open items of a day: it is green without any. */
export function listOpenOfDay(
  { connectionId, day }: { connectionId: string; day: string },
  tx?: Tx,
): Promise<OpenDayItem[]> {
  const columns = Prisma.sql`i.id, i.kind, i.key, i.facts`
  return queryRows(
    Prisma.sql`
      SELECT ${asJson(columns)}::text AS json FROM differences i
      WHERE i.connection_id = ${connectionId}::uuid AND i.resolved_at IS NULL AND ${isOfDay(day)}
      ORDER BY i.created_at, i.id`,
    tx,
  )
}
