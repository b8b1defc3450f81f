import { CALLS_MAX_MS, mayArrive, type Subject } from '#lib/banks/record-call.ts'
import { gatewayOfConnection } from '#lib/banks/served.ts'
import { closeCancelled, removeAtBank } from '#lib/charges/close.ts'
import { unavailableFor } from '#lib/charges/create.ts'
import { chargeAsJson, findAddressed, findCharge } from '#lib/charges/list.ts'
import { receivePayments } from '#lib/charges/receive.ts'
import type { ChargeRow } from '#lib/charges/schema.ts'
import { refuse } from '#lib/core/errors.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/sql.ts'

interface Canceller {
  accountId: string
  mode: Mode
  /** The member who cancels; null for a program. */
  by?: string | null
  /** Whether a charge that has expired is cancelled too, as API Pix has it. */
  includesExpired?: boolean
}

/**
 * Removes a pending charge at its bank and then ends it as `expired`, in one statement with its event.
 * Without the bank's confirmation it stays pending. After a crash between the two, a repeated call or
 * the worker ends it. Called twice, the second call returns the same charge.
 */
export async function cancelCharge(
  { accountId, mode, by = null, includesExpired = false }: Canceller,
  idOrReference: string,
  callsMaxMs = CALLS_MAX_MS,
): Promise<ChargeRow> {
  const charge = await findAddressed(accountId, mode, idOrReference)
  const { id } = charge
  if (includesExpired && charge.status === 'expired')
    return (
      (await markCancelled(accountId, id)) ??
      requireCancelled(await findCharge(accountId, mode, id))
    )
  if (charge.status !== 'pending') return requireCancelled(charge)
  const dueAt = await removeOrCredit({ accountId, id, mode }, callsMaxMs)
  const row = await closeCancelled({ accountId, chargeId: id, by }, dueAt)
  return row ?? requireCancelled(await findCharge(accountId, mode, id))
}

/** The worker removes each expired charge at its bank, so only the time is stored. Returns null if it has ended otherwise. */
async function markCancelled(accountId: string, id: string): Promise<ChargeRow | null> {
  const [row] = await queryRows<ChargeRow>(Prisma.sql`
    UPDATE charges c SET cancelled_at = now(), updated_at = now()
    WHERE c.account_id = ${accountId}::uuid AND c.id = ${id}::uuid AND c.status = 'expired'
      AND c.cancelled_at IS NULL
    RETURNING ${chargeAsJson}::text AS json`)
  return row ?? null
}

/** Returns when the bank is asked about the charge next. Refuses if the bank may still have it. */
async function removeOrCredit(
  charge: Omit<Subject, 'connectionId'>,
  callsMaxMs: number,
): Promise<Prisma.Sql> {
  const { accountId, id } = charge
  const { connectionId } = await db().charge.findUniqueOrThrow({
    where: { accountId_id: { accountId, id } },
    select: { connectionId: true },
  })
  const gateway = await gatewayOfConnection(connectionId)
  const removal = await removeAtBank(gateway, { ...charge, connectionId }, callsMaxMs)
  if (removal.state === 'paid') {
    await receivePayments([{ accountId, chargeId: id, payments: removal.payments }])
    // After a payment of another amount, one of the right amount may follow: the worker asks again.
    return Prisma.sql`now()`
  }
  if (removal.state === 'unconfirmed') throw unavailableFor(removal.pauseMs)
  // A repetition of the call that created the charge may still reach the bank.
  const mayComeBack = removal.state === 'absent' && (await mayArrive(charge, 'createCharge'))
  if (mayComeBack) throw unavailableFor(0)
  return Prisma.sql`NULL`
}

/** Refuses a charge that ended otherwise, or that was paid after it was cancelled. */
function requireCancelled(charge: ChargeRow | null): ChargeRow {
  if (charge?.status === 'expired' && charge.cancelled_at) return charge
  throw refuse('already_final', { subject: 'Transaction', status: charge?.status ?? 'final' })
}
