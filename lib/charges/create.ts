import { withJournal } from '#lib/banks/journal.ts'
import { connectionIn, gatewayOfConnection } from '#lib/banks/served.ts'
import { insertCharge } from '#lib/charges/insert.ts'
import { findResumedConnection, openAtBank, refusalOf } from '#lib/charges/open.ts'
import type { ChargeRequest, CreatedCharge } from '#lib/charges/schema.ts'
import { refuse } from '#lib/core/errors.ts'
import { newRoutableId, removeHyphens } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { isPlaceholderTaxId, normalizeTaxId } from '#lib/core/pix/tax-id.ts'
import type { IdempotentRequest } from '#lib/db/idempotency.ts'
import type { AccountRef } from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'

interface Merchant {
  id: string
  ref?: AccountRef
  name: string
  city: string
  expiresIn: number
  /** Whether the creator may not read documents, so that `webhook_url` receives them masked. */
  webhookMasked?: boolean
  /** Connection by which the account receives in the mode. Default: in test mode the simulator, else none. */
  receivingConnectionId?: string | null
  /** Id of the charge, if the caller has stored it before. */
  chargeId?: string
}

/**
 * Opens a charge. With a local gateway one INSERT is enough: a refusal or crash before it leaves
 * nothing behind, and an acknowledged charge is durable.
 */
export async function createCharge(
  merchant: Merchant,
  mode: Mode,
  request: ChargeRequest,
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
  const order = {
    txid: removeHyphens(id),
    amount: request.amount,
    expiresInSeconds: request.expires_in ?? merchant.expiresIn,
    merchantName: merchant.name,
    merchantCity: merchant.city,
    payerName: request.client_name,
    payerEmail: request.client_email,
    payerDoc: normalizeTaxId(request.client_doc),
  }
  const account = merchant.ref ?? merchant.id
  const charge = {
    accountId: merchant.id,
    account,
    id,
    mode,
    connectionId,
    request,
    webhookMasked: merchant.webhookMasked ?? false,
    ip: request.ip ?? callerIp,
    order,
    once,
  }
  if (!gateway.local) return openAtBank(gateway, charge)
  const opened = await withJournal(gateway, [charge]).createCharge(order)
  if (opened.outcome !== 'ok') throw refusalOf(opened)
  const { brCode, newsInMs } = opened.value
  await insertCharge(charge, opened.value, gateway.queryAgesMs)
  if (newsInMs !== undefined) wake('charges')
  const metadata = request.metadata ?? null
  return { id, br_code: brCode, amount: request.amount, status: 'pending', metadata }
}
