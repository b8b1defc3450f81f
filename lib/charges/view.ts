import { db } from '#lib/db/client.ts'

/** Stores the first view. `updated_at` stays, because the charge itself does not change. */
export async function recordChargeView(accountId: string, chargeId: string): Promise<void> {
  await db().$executeRaw`
    UPDATE charges SET viewed_at = now()
    WHERE account_id = ${accountId}::uuid AND id = ${chargeId}::uuid AND viewed_at IS NULL`
}
