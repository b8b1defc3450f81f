import { requirePermission } from '#lib/accounts/owners.ts'
import type { AccountChange } from '#lib/accounts/schema.ts'
import { recordAudit } from '#lib/audit/record.ts'
import { invalidInput, parseDatabaseError, refuse } from '#lib/core/errors.ts'
import { Invariant } from '#lib/core/invariant.ts'
import { cents } from '#lib/core/money.ts'
import { db, type Tx, transaction } from '#lib/db/client.ts'

type StoredSettings = Required<Omit<AccountChange, 'charge_review_above'>> & {
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
      SELECT name, city, expires_in, time_zone, charge_review_above, repeats_external_ids
      FROM accounts
      WHERE id = ${id}::uuid FOR NO KEY UPDATE`
    if (!stored) throw new Invariant(`account ${id} has members but is missing`)
    await requirePermission(tx, { accountId: id, userId: actor.id }, 'settings:write')
    const threshold = stored.charge_review_above
    const old = { ...stored, charge_review_above: threshold === null ? null : cents(threshold) }
    const { repeats_external_ids = old.repeats_external_ids, ...others } = change
    const changed = { ...others, repeats_external_ids }
    const names = (Object.keys(old) as (keyof AccountChange)[]).filter(
      name => old[name] !== changed[name],
    )
    if (!repeats_external_ids && old.repeats_external_ids) await refuseIfRepeated(tx, id)
    if (names.length > 0) {
      const { name, city, expires_in: expiresIn, time_zone: timeZone } = change
      const camelCased = { expiresIn, timeZone, repeatsExternalIds: repeats_external_ids }
      const data = { name, city, ...camelCased, chargeReviewAbove: change.charge_review_above }
      await tx.account.update({ where: { id }, data })
      const [before, after] = [old, changed].map(values =>
        Object.fromEntries(names.map(name => [name, values[name]])),
      )
      await recordAudit(tx, { actor, action: 'account.updated', accountId: id, before, after })
    }
    return { id, ...changed }
  })
}

/** Called under the lock of the account, for which charges that repeat wait (charges/insert.ts). */
async function refuseIfRepeated(tx: Tx, accountId: string): Promise<void> {
  const [found] = await tx.$queryRaw<{ repeats: boolean }[]>`
    SELECT EXISTS (SELECT FROM charges
      WHERE account_id = ${accountId}::uuid AND mode IN ('test', 'live')
        AND external_id_slot IS NULL) AS repeats`
  if (found?.repeats) throw refuse('external_ids_repeat')
}

/** Checks in PostgreSQL, which computes days and months and may know fewer zones than Node. */
async function requireKnownZone(name: string): Promise<void> {
  await db().$queryRaw`SELECT now() AT TIME ZONE ${name}::text`.catch(error => {
    if (parseDatabaseError(error).code !== '22023') throw error
    throw invalidInput('time_zone', 'must be a time zone that PostgreSQL knows')
  })
}
