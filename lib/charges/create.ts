import type { ChargeRequest, CreatedCharge } from '#lib/charges/schema.ts'
import { db } from '#lib/db/client.ts'
import { retried } from '#lib/db/transaction.ts'
import { databaseFault, TrocoError } from '#lib/errors.ts'
import { gatewayOf } from '#lib/gateway/choose.ts'
import type { Answer, ChargeOrder } from '#lib/gateway/gateway.ts'
import { bareId, newId } from '#lib/ids.ts'
import type { Mode } from '#lib/mode.ts'
import { normalizeTaxId } from '#lib/pix/tax-id.ts'

interface Merchant {
  id: string
  name: string
  city: string
  expiresIn: number
}

/**
 * Opens a charge. Where the gateway's code follows from the charge alone, the one INSERT is all:
 * what is answered is durable, and a refusal or a crash before it leaves nothing behind.
 */
export async function createCharge(
  merchant: Merchant,
  mode: Mode,
  request: ChargeRequest,
  callerIp: string | null,
): Promise<CreatedCharge> {
  const id = newId()
  const txid = bareId(id)
  const expiresInSeconds = request.expires_in ?? merchant.expiresIn
  const code = codeFrom(mode, {
    txid,
    amount: request.amount,
    expiresInSeconds,
    merchantName: merchant.name,
    merchantCity: merchant.city,
    payerName: request.client_name,
    payerEmail: request.client_email,
    payerDoc: normalizeTaxId(request.client_doc),
  })
  const metadata = request.metadata ?? null
  try {
    await retried(
      () => db().$executeRaw`
        INSERT INTO charges (account_id, id, mode, status, amount, external_id, txid, br_code,
          client_name, client_email, client_doc, client_phone, webhook_url, ip,
          metadata, utms, items, expires_at, due_at)
        VALUES (${merchant.id}::uuid, ${id}::uuid, ${mode}, 'pending', ${request.amount}::bigint,
          ${request.external_id ?? txid}, ${txid}, ${code},
          ${request.client_name}, ${request.client_email}, ${request.client_doc},
          ${request.client_phone ?? null}, ${request.webhook_url ?? null}, ${request.ip ?? callerIp},
          ${json(metadata)}::json, ${json(request.utms)}::json, ${json(request.items)}::json,
          now() + make_interval(secs => ${expiresInSeconds}::float8),
          now() + make_interval(secs => ${expiresInSeconds}::float8))`,
    )
  } catch (error) {
    if (databaseFault(error).constraint === 'charges_account_id_mode_external_id_key') {
      throw new TrocoError('external_id_used', 'external_id already used')
    }
    throw error
  }
  return { id, br_code: code, amount: request.amount, status: 'pending', metadata }
}

function codeFrom(mode: Mode, order: ChargeOrder): string {
  const gateway = gatewayOf(mode)
  const answer: Answer<{ brCode: string }> | undefined = gateway.codeFor?.(order)
  if (answer?.outcome === 'ok') return answer.value.brCode
  throw new TrocoError('service_unavailable', 'Service unavailable')
}

function json(value: unknown): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value)
}
