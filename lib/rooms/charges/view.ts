import { db } from '#lib/base/db/client.ts'

/**
 * Notes when the payer's page was first opened. The condition makes it once, however many open it
 * at the same time; it is no change of the charge, so `updated_at` stays.
 */
export async function viewCharge(accountId: string, chargeId: string): Promise<void> {
  await db().$executeRaw`
    UPDATE charges SET viewed_at = now()
    WHERE account_id = ${accountId}::uuid AND id = ${chargeId}::uuid AND viewed_at IS NULL`
}
