import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { ConnectionLimits } from '#lib/banks/schema.ts'
import { invalidInput, refuse } from '#lib/core/errors.ts'
import { cents } from '#lib/core/money.ts'
import { transaction } from '#lib/db/client.ts'

/**
 * Sets the given limits of a connection, effective from the next withdrawal. A withdrawal that is
 * being created locks the row, so that it sees either the old limits or the new ones. Returns all.
 */
export async function limitConnection(
  id: string,
  change: Partial<ConnectionLimits>,
  actor: Actor,
): Promise<ConnectionLimits> {
  const { success, data: given, error } = ConnectionLimits.partial().safeParse(change)
  if (!success) {
    const [issue] = error.issues
    throw invalidInput(String(issue?.path[0]), issue?.message ?? 'is invalid')
  }
  return transaction(async tx => {
    const [row] = await tx.$queryRaw<Record<keyof ConnectionLimits, bigint | null>[]>`
      SELECT payout_max, payout_day_max FROM connections WHERE id = ${id}::uuid FOR NO KEY UPDATE`
    if (!row) throw refuse('connection_not_found')
    const old = Object.fromEntries(
      Object.entries(row).map(([name, value]) => [name, value === null ? null : cents(value)]),
    ) as ConnectionLimits
    const limits = { ...old, ...given }
    const names = (Object.keys(limits) as (keyof ConnectionLimits)[]).filter(
      name => limits[name] !== old[name],
    )
    if (names.length === 0) return limits
    const { payout_max: payoutMax, payout_day_max: payoutDayMax } = limits
    await tx.connection.update({ where: { id }, data: { payoutMax, payoutDayMax } })
    const [before, after] = [old, limits].map(values =>
      Object.fromEntries(names.map(name => [name, values[name]])),
    )
    await recordAudit(tx, { actor, action: 'connection.limited', target: id, before, after })
    return limits
  })
}
