import { parseSearchedReais } from '#lib/core/money.ts'
import { reverseTail } from '#lib/core/pix/end-to-end-id.ts'
import { Prisma } from '#lib/db/client.ts'
import { activeTokenCondition, tokenStatusSql } from '#lib/tokens/status.ts'
import { withdrawalMatches } from '#lib/withdrawals/queries.ts'

/** Withdrawals and refunds have no index of amounts and ends of ids: the newest are read. */
const NEWEST_MAX = 2_000

/** Condition on account and mode of the row with this alias. */
export type ScopeSql = (alias: string) => Prisma.Sql

/** An event and its delivery to the resource's own URL share an id: returns only the delivery. */
export function selectById(scopeCondition: ScopeSql, id: string, basePath: string): Prisma.Sql[] {
  return [
    selectWithdrawals(scopeCondition, Prisma.sql`w.id = ${id}::uuid`, basePath),
    selectRefunds(scopeCondition, Prisma.sql`r.id = ${id}::uuid`, basePath),
    selectDeliveries(scopeCondition, Prisma.sql`d.id = ${id}::uuid`, basePath),
    Prisma.sql`
      SELECT 'event', e.id, e.type, e.sequence::text, 'event', NULL::bigint,
        ${basePath}::text || CASE WHEN e.type LIKE 'withdrawal%' THEN '/withdrawals/' ELSE '/charges/' END
          || e.subject_id
      FROM events e WHERE ${scopeCondition('e')} AND e.id = ${id}::uuid AND NOT EXISTS (
        SELECT 1 FROM deliveries d WHERE ${scopeCondition('d')} AND d.id = ${id}::uuid)`,
  ]
}

export function selectWithdrawals(
  scopeCondition: ScopeSql,
  condition: Prisma.Sql,
  basePath: string,
): Prisma.Sql {
  return Prisma.sql`
    SELECT 'withdrawal' AS kind, w.id, w.pix_key AS label, w.external_id AS detail, w.status,
      w.amount, ${basePath}::text || '/withdrawals/' || w.id AS href
    FROM withdrawals w WHERE ${scopeCondition('w')} AND ${condition}`
}

export function selectRefunds(
  scopeCondition: ScopeSql,
  condition: Prisma.Sql,
  basePath: string,
): Prisma.Sql {
  return Prisma.sql`
    SELECT 'refund' AS kind, r.id, c.client_name AS label, c.external_id AS detail, r.status,
      r.amount, ${basePath}::text || '/charges/' || r.charge_id AS href
    FROM refunds r JOIN charges c ON c.account_id = r.account_id AND c.id = r.charge_id
    WHERE ${scopeCondition('r')} AND ${condition}`
}

export function selectNewest(
  scopeCondition: ScopeSql,
  text: string,
  basePath: string,
  isViewing: boolean,
): Prisma.Sql[] {
  const newest = (table: string, alias: string) =>
    Prisma.sql`${Prisma.raw(alias)}.id IN (SELECT n.id FROM ${Prisma.raw(table)} n
      WHERE ${scopeCondition('n')} ORDER BY n.id DESC LIMIT ${NEWEST_MAX})`
  const isRefund = Prisma.sql`(r.amount = ${parseSearchedReais(text)}::bigint
    OR starts_with(upper(reverse(r.return_id)), ${reverseTail(text)}))`
  return [
    selectWithdrawals(
      scopeCondition,
      Prisma.sql`${newest('withdrawals', 'w')} AND ${withdrawalMatches(text, isViewing)}
        ORDER BY w.id DESC`,
      basePath,
    ),
    selectRefunds(
      scopeCondition,
      Prisma.sql`${newest('refunds', 'r')} AND ${isRefund} ORDER BY r.id DESC`,
      basePath,
    ),
  ]
}

function selectDeliveries(
  scopeCondition: ScopeSql,
  condition: Prisma.Sql,
  basePath: string,
): Prisma.Sql {
  return Prisma.sql`
    SELECT 'delivery' AS kind, d.id, e.type AS label, d.url AS detail, d.status,
      NULL::bigint AS amount, ${basePath}::text || '/webhooks/deliveries/' || d.id AS href
    FROM deliveries d JOIN events e ON e.account_id = d.account_id AND e.id = d.event_id
    WHERE ${scopeCondition('d')} AND ${condition}`
}

/** Scans the account's tokens: there are few, and the primary key begins with the account. */
export function selectTokens(scopeCondition: ScopeSql, text: string, basePath: string): Prisma.Sql {
  return Prisma.sql`
    SELECT 'token' AS kind, t.id, t.name AS label, t.prefix AS detail,
      CASE WHEN ${activeTokenCondition} THEN 'active' ELSE ${tokenStatusSql} END AS status,
      NULL::bigint AS amount,
      ${basePath}::text || '/settings/tokens' AS href
    FROM tokens t WHERE ${scopeCondition('t')} AND t.prefix = left(${text}, 20)`
}
