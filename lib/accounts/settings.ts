import { requireMemberPermission } from '#lib/accounts/members.ts'
import {
  type AccountChange,
  type AccountLimits,
  type AccountStatus,
  type ChangedStatus,
  LIMIT_NAMES,
  type StatusChange,
} from '#lib/accounts/schema.ts'
import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { invalidInput, parseDatabaseError, refuse } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import { cents } from '#lib/core/money.ts'
import { db, type Tx, transaction } from '#lib/db/client.ts'
import { queueMailToOwners } from '#lib/mail/queue.ts'

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
      SELECT name, city, expires_in, time_zone, charge_review_above, repeats_external_ids,
        shop_url, cnpj
      FROM accounts
      WHERE id = ${id}::uuid FOR NO KEY UPDATE`
    if (!stored) throw new Invariant(`account ${id} has members but is missing`)
    await requireMemberPermission(tx, { accountId: id, userId: actor.id }, 'settings:write')
    const threshold = stored.charge_review_above
    const old = { ...stored, charge_review_above: threshold === null ? null : cents(threshold) }
    const { repeats_external_ids = old.repeats_external_ids, ...others } = change
    const changed = { ...others, repeats_external_ids }
    const names = (Object.keys(old) as (keyof AccountChange)[]).filter(
      name => old[name] !== changed[name],
    )
    if (!repeats_external_ids && old.repeats_external_ids) await refuseIfRepeated(tx, id)
    if (names.length > 0) {
      const { name, city, expires_in: expiresIn, time_zone: timeZone, cnpj } = change
      const camelCased = { expiresIn, timeZone, repeatsExternalIds: repeats_external_ids, cnpj }
      const { charge_review_above: chargeReviewAbove, shop_url: shopUrl } = change
      const data = { name, city, ...camelCased, chargeReviewAbove, shopUrl }
      await tx.account.update({ where: { id }, data })
      const [before, after] = [old, changed].map(values =>
        Object.fromEntries(names.map(name => [name, values[name]])),
      )
      await recordAudit(tx, { actor, action: 'account.updated', accountId: id, before, after })
    }
    return { id, ...changed }
  })
}

/** Called under the lock of the account, for which charges that repeat a reference wait (charges/create.ts). */
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

/** Activates a pending or suspended account. Returns null if the status does not change. */
export function activateAccount(accountId: string, reason: string | undefined, actor: Actor) {
  return setAccountStatus(accountId, ['pending', 'suspended'], 'active', reason, actor)
}

/** Tokens are refused from the next request on. Returns null if the status does not change. */
export function suspendAccount(accountId: string, reason: string, actor: Actor) {
  return setAccountStatus(accountId, ['active', 'pending'], 'suspended', reason, actor)
}

function setAccountStatus(
  accountId: string,
  from: AccountStatus[],
  to: AccountStatus,
  reason: string | undefined,
  actor: Actor,
): Promise<{ id: string } | null> {
  if (!isUuid(accountId)) return Promise.resolve(null)
  return transaction(async tx => {
    const [before] = await tx.$queryRaw<{ status: AccountStatus }[]>`
      SELECT status FROM accounts WHERE id = ${accountId}::uuid FOR NO KEY UPDATE`
    if (!before || !from.includes(before.status)) return null
    const data = { status: to, statusReason: reason ?? null }
    await tx.account.update({ where: { id: accountId }, data })
    const action = to === 'active' ? 'account.activated' : 'account.suspended'
    const change = { before: { status: before.status }, after: { status: to } }
    await recordAudit(tx, { actor, action, accountId, reason, ...change })
    await queueMailToOwners(tx, accountId, name =>
      to === 'active'
        ? { kind: 'accountActivated', account: name }
        : { kind: 'accountSuspended', account: name, reason: reason ?? '' },
    )
    return { id: accountId }
  })
}

/**
 * Activates or suspends accounts, each in a transaction of its own with its audit record and mails.
 * If the request ends early, those changed so far stay so, and a repetition reports them as unchanged
 * and changes the rest.
 */
export async function changeStatuses(
  { account_ids: ids, status, reason }: StatusChange,
  actor: Actor,
): Promise<ChangedStatus[]> {
  const change = status === 'active' ? activateAccount : suspendAccount
  const existing = await db().account.findMany({
    where: { id: { in: ids } },
    select: { id: true },
  })
  const known = new Set(existing.map(({ id }) => id))
  const results: ChangedStatus[] = []
  for (const id of ids) {
    const changed = known.has(id) ? await change(id, reason, actor) : null
    const outcome = changed ? 'changed' : known.has(id) ? 'unchanged' : 'not_found'
    results.push({ account_id: id, outcome })
  }
  return results
}
