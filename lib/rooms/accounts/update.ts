import { recordAudit } from '#lib/base/audit/record.ts'
import { db } from '#lib/base/db/client.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import { invalidInput, parseDatabaseError } from '#lib/base/errors.ts'
import { Invariant } from '#lib/base/invariant.ts'
import { cents } from '#lib/base/money.ts'
import { requirePermission } from '#lib/rooms/accounts/owners.ts'
import type { AccountChange } from '#lib/rooms/accounts/schema.ts'

type StoredSettings = Omit<AccountChange, 'charge_review_above'> & {
  charge_review_above: bigint | null
}

/** Updates the settings for new charges; Pix codes already issued do not change. */
export async function updateAccount(
  id: string,
  change: AccountChange,
  actor: { type: 'user'; id: string },
) {
  await requireKnownZone(change.time_zone)
  return transaction(async tx => {
    const [stored] = await tx.$queryRaw<StoredSettings[]>`
      SELECT name, city, expires_in, time_zone, charge_review_above FROM accounts
      WHERE id = ${id}::uuid FOR NO KEY UPDATE`
    if (!stored) throw new Invariant(`account ${id} has members but is missing`)
    await requirePermission(tx, { accountId: id, userId: actor.id }, 'settings:write')
    const threshold = stored.charge_review_above
    const old = { ...stored, charge_review_above: threshold === null ? null : cents(threshold) }
    const names = (Object.keys(old) as (keyof AccountChange)[]).filter(
      name => old[name] !== change[name],
    )
    const { name, city, expires_in, time_zone, charge_review_above } = change
    if (names.length > 0) {
      const camelCased = { expiresIn: expires_in, timeZone: time_zone }
      const data = { name, city, ...camelCased, chargeReviewAbove: charge_review_above }
      await tx.account.update({ where: { id }, data })
      const [before, after] = [old, change].map(values =>
        Object.fromEntries(names.map(name => [name, values[name]])),
      )
      await recordAudit(tx, { actor, action: 'account.updated', accountId: id, before, after })
    }
    return { id, name, city, expires_in, time_zone, charge_review_above }
  })
}

/** Checks in PostgreSQL, which computes days and months and may know fewer zones than Node. */
async function requireKnownZone(name: string): Promise<void> {
  await db().$queryRaw`SELECT now() AT TIME ZONE ${name}::text`.catch(error => {
    if (parseDatabaseError(error).code !== '22023') throw error
    throw invalidInput('time_zone', 'must be a time zone that PostgreSQL knows')
  })
}
