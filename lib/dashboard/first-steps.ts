import type { Mode } from '#lib/core/mode.ts'
import type { Steps } from '#lib/dashboard/schema.ts'
import { Prisma } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/rows.ts'
import { hasDelivered } from '#lib/webhooks/queries.ts'

/** Reads which first steps a merchant has done. The welcome charge does not count as a payment. */
export async function readFirstSteps(accountId: string, mode: Mode): Promise<Steps> {
  const scopeCondition = (alias: string) => {
    const row = Prisma.raw(alias)
    return Prisma.sql`${row}.account_id = ${accountId}::uuid AND ${row}.mode = ${mode}`
  }
  const [[steps], webhook] = await Promise.all([
    queryRows<Omit<Steps, 'webhook'>>(Prisma.sql`
      SELECT json_build_object(
        'token', EXISTS (SELECT FROM tokens t WHERE ${scopeCondition('t')}),
        'payment', EXISTS (SELECT FROM charges c WHERE ${scopeCondition('c')}
          AND c.paid_at IS NOT NULL AND c.external_id <> 'welcome'))::text AS json`),
    hasDelivered(accountId, mode),
  ])
  return { token: false, payment: false, ...steps, webhook }
}
