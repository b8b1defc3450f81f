import { withJournal } from '#lib/banks/record-call.ts'
import { connectionIn, gatewayOfConnection } from '#lib/banks/served.ts'
import { findCharge, serializeCharge } from '#lib/charges/list.ts'
import { findResumedConnection, insertCharge, openAtBank, refusalOf } from '#lib/charges/open.ts'
import type { ChargeRow, CreatedCharge, DescribedRequest } from '#lib/charges/schema.ts'
import { qrCodeUrl } from '#lib/charges/urls.ts'
import { createdChargeToWire } from '#lib/charges/wire.ts'
import { refuse } from '#lib/core/errors.ts'
import { newRoutableId, removeHyphens } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import { isPlaceholderTaxId, normalizeTaxId } from '#lib/core/pix/tax-id.ts'
import type { IdempotentRequest } from '#lib/db/idempotency.ts'
import { wake } from '#lib/db/wake.ts'

interface Merchant {
  id: string
  name: string
  city: string
  expiresIn: number
  /** Whether the creator may not read documents, so that `webhook_url` receives them masked. */
  webhookMasked?: boolean
  /** Connection by which the account receives in the mode. Default: in test mode the simulator, else none. */
  receivingConnectionId?: string | null
  /** Id of the charge, if the caller has stored it before. */
  chargeId?: string
  /** Whether a repeated external_id is refused although the account allows it. */
  isReferenceUnique?: boolean
}

/**
 * Opens a charge. With a local gateway one INSERT is enough: a refusal or crash before it leaves
 * nothing behind, and an acknowledged charge is durable.
 */
export async function createCharge(
  merchant: Merchant,
  mode: Mode,
  request: DescribedRequest,
  callerIp: string | null,
  once?: IdempotentRequest,
): Promise<CreatedCharge> {
  const resumedId = once && (await findResumedConnection(once))
  const connectionId = resumedId ?? merchant.receivingConnectionId ?? connectionIn(mode, null)
  if (!connectionId) throw refuse('live_mode_disabled')
  if (mode === 'live' && isPlaceholderTaxId(request.client_doc))
    throw refuse('placeholder_document')
  const gateway = await gatewayOfConnection(connectionId)
  const id = once?.id ?? merchant.chargeId ?? newRoutableId(merchant.id)
  const terms = {
    txid: removeHyphens(id),
    amount: request.amount,
    expiresInSeconds: request.expires_in ?? merchant.expiresIn,
    merchantName: merchant.name,
    merchantCity: merchant.city,
    payerName: request.client_name,
    payerEmail: request.client_email,
    payerDoc: normalizeTaxId(request.client_doc),
  }
  const charge = {
    accountId: merchant.id,
    id,
    mode,
    connectionId,
    request,
    webhookMasked: merchant.webhookMasked ?? false,
    isReferenceUnique: merchant.isReferenceUnique ?? false,
    ip: request.ip ?? callerIp,
    terms,
    once,
  }
  if (!gateway.local) return openAtBank(gateway, charge)
  const opened = await withJournal(gateway, [charge]).createCharge(terms)
  if (opened.outcome !== 'ok') throw refusalOf(opened)
  const { brCode, newsInMs } = opened.value
  await insertCharge(charge, opened.value, gateway.queryAgesMs)
  if (newsInMs !== undefined) wake('charges')
  const metadata = request.metadata ?? null
  return { id, br_code: brCode, amount: request.amount, status: 'pending', metadata }
}

interface Reader {
  accountId: string
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
async function readCreatedRow({ accountId, mode }: Reader, id: string): Promise<ChargeRow> {
  const row = await findCharge(accountId, mode, id)
  if (!row) throw new Invariant(`charge ${id} was acknowledged but is missing`)
  const unpaid = { paid_at: null, end_to_end_id: null, refunded_amount: 0 }
  const unchanged = { updated_at: row.created_at, cancelled_at: null, description: null }
  return { ...row, status: 'pending', ...unpaid, ...unchanged, payer: null }
}
