import { Prisma } from '#lib/base/db/client.ts'

/** Condition that a token `t` is active: not revoked, and not expired by the database's clock. */
export const activeTokenCondition = Prisma.sql`
  (t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now()))`

/** TokenStatus of a row `t`. `isActiveStatus` must agree with `activeTokenCondition`. */
export const tokenStatusSql = Prisma.sql`
  (CASE WHEN t.revoked_at IS NOT NULL THEN 'revoked' WHEN NOT ${activeTokenCondition} THEN 'expired'
    WHEN t.replaced_by IS NOT NULL THEN 'replaced'
    WHEN t.expires_at < now() + interval '7 days' THEN 'expiring' ELSE 'active' END)`
