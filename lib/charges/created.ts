import { qrCodeUrl } from '#lib/charges/payment-url.ts'
import { findCharge, serializeCharge } from '#lib/charges/queries.ts'
import type { ChargeRow, CreatedCharge } from '#lib/charges/schema.ts'
import { createdChargeToWire } from '#lib/charges/wire.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import type { AccountRef } from '#lib/db/sql.ts'

interface Reader {
  account: AccountRef
  mode: Mode
  /** Whether the request prefers the whole resource. */
  prefersRepresentation: boolean
}

/** Returns the response to the creation of a charge, whatever its status has become since. */
export async function createdResponse(reader: Reader, charge: CreatedCharge) {
  if (!reader.prefersRepresentation) return { status: 'success', data: createdChargeToWire(charge) }
  const row = await readCreatedRow(reader, charge.id)
  return { status: 'success', data: { ...serializeCharge(row), qr_code_url: qrCodeUrl(row.id) } }
}

/** Rebuilds the response under an Idempotency-Key, in the form that the repeated request prefers. */
export async function rebuildCreated(reader: Reader, id: string) {
  return createdResponse(reader, await readCreatedRow(reader, id))
}

/**
 * Reads the charge as it was created: a payment in the meantime would tell a token that may only
 * create charges what it may not read.
 */
async function readCreatedRow({ account, mode }: Reader, id: string): Promise<ChargeRow> {
  const row = await findCharge(account, mode, id)
  if (!row) throw new Invariant(`charge ${id} was acknowledged but is missing`)
  const unpaid = { paid_at: null, end_to_end_id: null, refunded_amount: 0 }
  const unchanged = { updated_at: row.created_at, cancelled_at: null, description: null }
  return { ...row, status: 'pending', ...unpaid, ...unchanged, payer: null }
}
