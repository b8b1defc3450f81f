import { Prisma } from '#lib/base/db/client.ts'
import { queryRows } from '#lib/base/db/rows.ts'
import type { Mode } from '#lib/base/mode.ts'
import type { Steps } from '#lib/views/dashboard/schema.ts'

/** Whoever got none of so many webhooks has other things to read than first steps. */
const DELIVERIES_READ = 1_000

/** Which first steps a merchant has made. The charge that welcomed them was paid by us. */
export async function readSteps(accountId: string, mode: Mode): Promise<Steps> {
  const mine = (alias: string) => {
    const row = Prisma.raw(alias)
    return Prisma.sql`${row}.account_id = ${accountId}::uuid AND ${row}.mode = ${mode}`
  }
  const [steps] = await queryRows<Steps>(Prisma.sql`
    SELECT json_build_object(
      'token', EXISTS (SELECT FROM tokens t WHERE ${mine('t')}),
      'payment', EXISTS (SELECT FROM charges c
        WHERE ${mine('c')} AND c.paid_at IS NOT NULL AND c.external_id <> 'welcome'),
      'webhook', EXISTS (SELECT FROM (
        SELECT d.status FROM deliveries d WHERE ${mine('d')}
        ORDER BY d.sequence DESC LIMIT ${DELIVERIES_READ}) d
        WHERE d.status = 'delivered'))::text AS json`)
  return steps ?? { token: false, payment: false, webhook: false }
}
