import { Prisma } from '#lib/base/db/client.ts'
import { queryRows } from '#lib/base/db/rows.ts'
import type { Mode } from '#lib/base/mode.ts'
import type { Steps } from '#lib/views/dashboard/schema.ts'

/** Maximum latest deliveries searched: after so many failures, first steps no longer matter. */
const DELIVERIES_READ_MAX = 1_000

/** Reads which first steps a merchant has done. The welcome charge does not count as a payment. */
export async function readFirstSteps(accountId: string, mode: Mode): Promise<Steps> {
  const scopeCondition = (alias: string) => {
    const row = Prisma.raw(alias)
    return Prisma.sql`${row}.account_id = ${accountId}::uuid AND ${row}.mode = ${mode}`
  }
  const [steps] = await queryRows<Steps>(Prisma.sql`
    SELECT json_build_object(
      'token', EXISTS (SELECT FROM tokens t WHERE ${scopeCondition('t')}),
      'payment', EXISTS (SELECT FROM charges c
        WHERE ${scopeCondition('c')} AND c.paid_at IS NOT NULL AND c.external_id <> 'welcome'),
      'webhook', EXISTS (SELECT FROM (
        SELECT d.status FROM deliveries d WHERE ${scopeCondition('d')}
        ORDER BY d.sequence DESC LIMIT ${DELIVERIES_READ_MAX}) d
        WHERE d.status = 'delivered'))::text AS json`)
  return steps ?? { token: false, payment: false, webhook: false }
}
