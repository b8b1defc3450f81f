import { Prisma } from '#lib/db/client.ts'

/**
 * Condition that a token is not revoked, and not expired by the database's clock. Written as the index
 * `tokens_working_idx`, by which statements about many tokens find those that work.
 */
const livingCondition = (row: 't' | 'p') =>
  Prisma.raw(`(${row}.revoked_at IS NULL AND COALESCE(${row}.expires_at, 'infinity') > now())`)

/**
 * Condition that the parent of a token `t` is active. The role of its issuer is not read here: a
 * change of the role decides about the parent, and so about its children.
 */
const parentCondition = Prisma.sql`EXISTS (
  SELECT 1 FROM tokens p
  WHERE p.account_id = t.account_id AND p.id = t.parent_id AND ${livingCondition('p')})`

/** Condition that a token `t` is active if its parent is, or if it has none. */
export const rootCondition = livingCondition('t')

/** Condition that a token `t` is active. */
export const activeTokenCondition = Prisma.sql`
  (${rootCondition} AND (t.parent_id IS NULL OR ${parentCondition}))`

/** Condition that a row is a token, expired or not, or an active one that it created. */
export function withChildren(id: string): Prisma.Sql {
  return Prisma.sql`(t.id = ${id}::uuid OR t.parent_id = ${id}::uuid AND ${rootCondition})`
}

/** TokenStatus of a row `t`. `isActiveToken` must agree with `activeTokenCondition`. */
export const tokenStatusSql = Prisma.sql`
  (CASE WHEN t.revoked_at IS NOT NULL THEN 'revoked' WHEN NOT ${activeTokenCondition} THEN 'expired'
    WHEN t.replaced_by IS NOT NULL THEN 'replaced'
    WHEN t.expires_at < now() + interval '7 days' THEN 'expiring' ELSE 'active' END)`
