import { type AccountLimits, LIMIT_NAMES } from '#lib/accounts/schema.ts'
import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { isUuid } from '#lib/core/ids.ts'
import { cents } from '#lib/core/money.ts'
import { transaction } from '#lib/db/client.ts'

/** Effective from the next request. Audits only changed limits. Null: no such account. */
export async function limitAccount(
  accountId: string,
  limits: AccountLimits,
  actor: Actor,
): Promise<AccountLimits | null> {
  if (!isUuid(accountId)) return null
  return transaction(async tx => {
    const [old] = await tx.$queryRaw<Record<keyof AccountLimits, bigint | null>[]>`
      SELECT charge_max, withdrawal_max, night_max, day_max FROM accounts
      WHERE id = ${accountId}::uuid FOR NO KEY UPDATE`
    if (!old) return null
    const oldLimit = (name: keyof AccountLimits) => (old[name] === null ? null : cents(old[name]))
    const changed = LIMIT_NAMES.filter(name => oldLimit(name) !== limits[name])
    if (changed.length === 0) return limits
    const { charge_max: chargeMax, withdrawal_max: withdrawalMax } = limits
    const { night_max: nightMax, day_max: dayMax } = limits
    await tx.account.update({
      where: { id: accountId },
      data: { chargeMax, withdrawalMax, nightMax, dayMax },
    })
    const before = Object.fromEntries(changed.map(name => [name, oldLimit(name)]))
    const after = Object.fromEntries(changed.map(name => [name, limits[name]]))
    await recordAudit(tx, { actor, action: 'account.limited', accountId, before, after })
    return limits
  })
}
