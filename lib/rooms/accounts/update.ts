import { recordAudit } from '#lib/base/audit/record.ts'
import { db } from '#lib/base/db/client.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import { invalidInput, parseDatabaseError } from '#lib/base/errors.ts'
import { Invariant } from '#lib/base/invariant.ts'
import { requirePermission } from '#lib/rooms/accounts/owners.ts'
import type { AccountChange } from '#lib/rooms/accounts/schema.ts'

/** Updates the settings for new charges; Pix codes already issued do not change. */
export async function updateAccount(
  id: string,
  change: AccountChange,
  actor: { type: 'user'; id: string },
) {
  await requireKnownZone(change.time_zone)
  return transaction(async tx => {
    const [old] = await tx.$queryRaw<AccountChange[]>`
      SELECT name, city, expires_in, time_zone FROM accounts
      WHERE id = ${id}::uuid FOR NO KEY UPDATE`
    if (!old) throw new Invariant(`account ${id} has members but is missing`)
    await requirePermission(tx, { accountId: id, userId: actor.id }, 'settings:write')
    const names = (Object.keys(old) as (keyof AccountChange)[]).filter(
      name => old[name] !== change[name],
    )
    if (names.length > 0) {
      const { name, city, expires_in: expiresIn, time_zone: timeZone } = change
      await tx.account.update({ where: { id }, data: { name, city, expiresIn, timeZone } })
      const [before, after] = [old, change].map(values =>
        Object.fromEntries(names.map(name => [name, values[name]])),
      )
      await recordAudit(tx, { actor, action: 'account.updated', accountId: id, before, after })
    }
    const { name, city, expires_in, time_zone } = change
    return { id, name, city, expires_in, time_zone }
  })
}

/** Checks in PostgreSQL, which computes days and months and may know fewer zones than Node. */
async function requireKnownZone(name: string): Promise<void> {
  await db().$queryRaw`SELECT now() AT TIME ZONE ${name}::text`.catch(error => {
    if (parseDatabaseError(error).code !== '22023') throw error
    throw invalidInput('time_zone', 'must be a time zone that PostgreSQL knows')
  })
}
