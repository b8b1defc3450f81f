import { Prisma } from '#lib/base/db/client.ts'

/** Condition that a token is not revoked, and not expired by the database's clock. */
const livingCondition = (row: 't' | 'p') =>
  Prisma.raw(
    `(${row}.revoked_at IS NULL AND (${row}.expires_at IS NULL OR ${row}.expires_at > now()))`,
  )

/**
 * Condition that the parent of a token `t` is active. The role of its issuer lies on another side
 * (docs/decisions/030): whoever ends it decides about the parent, and the children follow.
 */
const parentCondition = Prisma.sql`EXISTS (
  SELECT 1 FROM tokens p
  WHERE p.account_id = t.account_id AND p.id = t.parent_id AND ${livingCondition('p')})`

/** Condition that a token `t` without a parent is active. */
export const rootCondition = livingCondition('t')

/** Condition that a token `t` is active. */
export const activeTokenCondition = Prisma.sql`
  (${rootCondition} AND (t.parent_id IS NULL OR ${parentCondition}))`

/** Implied by `activeTokenCondition`, for statements that read many tokens by the index `tokens_working_idx`. */
export const workingCondition = Prisma.sql`
  (t.revoked_at IS NULL AND COALESCE(t.expires_at, 'infinity') > now())`

/** TokenStatus of a row `t`. `isActiveStatus` must agree with `activeTokenCondition`. */
export const tokenStatusSql = Prisma.sql`
  (CASE WHEN t.revoked_at IS NOT NULL THEN 'revoked' WHEN NOT ${activeTokenCondition} THEN 'expired'
    WHEN t.replaced_by IS NOT NULL THEN 'replaced'
    WHEN t.expires_at < now() + interval '7 days' THEN 'expiring' ELSE 'active' END)`
