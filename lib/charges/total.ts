import type { ChargeFilters } from '#lib/charges/list-query.ts'
import type { ChargeTotals } from '#lib/charges/schema.ts'
import { chargesWhere, joinCharges, type SearchScope, searchCte } from '#lib/charges/search.ts'
import type { Mode } from '#lib/core/mode.ts'
import { Prisma } from '#lib/db/client.ts'
import type { AccountRef } from '#lib/db/sql.ts'
import { queryRows } from '#lib/db/sql.ts'

const COUNTED_MAX = 100_000

export async function totalCharges(
  account: AccountRef,
  mode: Mode,
  filters: ChargeFilters & SearchScope,
): Promise<ChargeTotals> {
  const { q } = filters
  const rows = Prisma.sql`SELECT c.status, c.amount FROM
    ${q ? joinCharges('found') : Prisma.sql`charges c`}
    WHERE ${chargesWhere(account, mode, filters)} LIMIT ${COUNTED_MAX + 1}`
  const [total] = await queryRows<Omit<ChargeTotals, 'is_exact'>>(Prisma.sql`
    ${q ? Prisma.sql`WITH ${searchCte(account, mode, { ...filters, q })}` : Prisma.empty}
    SELECT json_build_object('count', count(*),
      'amount', LEAST(COALESCE(sum(r.amount), 0), ${Number.MAX_SAFE_INTEGER}::bigint),
      'paid_amount', LEAST(COALESCE(sum(r.amount) FILTER (WHERE r.status = 'paid'), 0),
        ${Number.MAX_SAFE_INTEGER}::bigint))::text AS json
    FROM (${rows}) r`)
  const { count = 0, amount = 0, paid_amount = 0 } = total ?? {}
  const isExact = count <= COUNTED_MAX && amount < Number.MAX_SAFE_INTEGER
  return { count: Math.min(count, COUNTED_MAX), amount, paid_amount, is_exact: isExact }
}
