import type { Tx } from '#lib/base/db/client.ts'
import { invalidInput } from '#lib/base/errors.ts'
import { idLowerBoundAt } from '#lib/base/ids.ts'
import { cents, formatReais } from '#lib/base/money.ts'

interface Limits {
  withdrawalMax: bigint | null
  nightMax: bigint | null
  /** Start of the request's night, 20:00 in São Paulo; null by day. */
  began: Date | null
  /** End of the same night, 06:00 in São Paulo; null by day. */
  ends: Date | null
}

/**
 * Refuses over a live-mode limit, rolling back the caller's transaction. The caller holds the lock
 * on the balance, so no other withdrawal of the account can intervene.
 */
export async function requireWithinLimits(
  tx: Tx,
  accountId: string,
  { amount, bookedAt }: { amount: number; bookedAt?: Date },
): Promise<void> {
  const [limits] = await tx.$queryRaw<Limits[]>`
    SELECT a.withdrawal_max AS "withdrawalMax", a.night_max AS "nightMax",
      (n.evening + time '20:00') AT TIME ZONE 'America/Sao_Paulo' AS began,
      (n.evening + 1 + time '06:00') AT TIME ZONE 'America/Sao_Paulo' AS ends
    FROM accounts a
    CROSS JOIN LATERAL (
      SELECT COALESCE(${bookedAt ?? null}::timestamptz, now()) AT TIME ZONE 'America/Sao_Paulo' AS at) here
    CROSS JOIN LATERAL (SELECT CASE WHEN here.at::time >= '20:00' THEN here.at::date
      WHEN here.at::time < '06:00' THEN here.at::date - 1 END AS evening) n
    WHERE a.id = ${accountId}::uuid`
  if (!limits) return
  const { withdrawalMax, nightMax, began, ends } = limits
  if (withdrawalMax !== null && amount > cents(withdrawalMax)) {
    const rule = `must be at most ${reais(withdrawalMax)}, this account's limit per withdrawal`
    throw invalidInput('amount', rule)
  }
  if (nightMax === null || !began || !ends) return
  const [night] = await tx.$queryRaw<{ total: bigint }[]>`
    SELECT COALESCE(sum(amount), 0)::bigint AS total FROM withdrawals
    WHERE account_id = ${accountId}::uuid AND mode = 'live' AND status <> 'rejected'
      AND id >= ${idLowerBoundAt(began.getTime())}::uuid
      AND created_at >= ${began}::timestamptz AND created_at < ${ends}::timestamptz`
  if (cents(night?.total ?? 0) > cents(nightMax)) {
    const rule = `would bring the withdrawals from 20:00 to 06:00 above ${reais(nightMax)}, this account's limit`
    throw invalidInput('amount', rule)
  }
}

function reais(amount: bigint): string {
  return `R$ ${formatReais(cents(amount), 'en')}`
}
