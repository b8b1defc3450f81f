import * as z from 'zod'
import { CHARGE_STATUSES, type ChargeRow, type CreatedCharge } from '#lib/charges/schema.ts'
import { anyObject, instant } from '#lib/fields.ts'
import { MODES } from '#lib/mode.ts'
import { cents } from '#lib/money.ts'

const created = {
  transaction_id: z.uuid(),
  br_code: z.string(),
  amount: z.int(),
  status: z.enum(CHARGE_STATUSES),
  metadata: anyObject.nullable(),
}

export const ChargeCreated = z.object({ status: z.literal('success'), data: z.object(created) })

export const ChargeDetail = z.object({
  ...created,
  id: z.uuid(),
  external_id: z.string(),
  mode: z.enum(MODES),
  client_name: z.string(),
  client_email: z.string(),
  client_doc: z.string(),
  client_phone: z.string().nullable(),
  ip: z.string().nullable(),
  items: z.array(anyObject).nullable(),
  utms: anyObject.nullable(),
  webhook_url: z.string().nullable(),
  expires_at: instant,
  paid_at: instant.nullable(),
  end_to_end_id: z.string().nullable(),
  refunded_amount: z.int(),
  payment_url: z.string(),
  created_at: instant,
  updated_at: instant,
})
export type ChargeDetail = z.infer<typeof ChargeDetail>

export const ChargeRead = z.object({ status: z.literal('success'), data: ChargeDetail })
export const ChargePage = z.object({
  data: z.array(ChargeDetail),
  next_cursor: z.string().nullable(),
})

export function createdChargeToWire(charge: CreatedCharge) {
  return {
    transaction_id: charge.id,
    br_code: charge.br_code,
    amount: cents(charge.amount),
    status: charge.status,
    metadata: charge.metadata,
  }
}

/** `paymentUrl` is the address of the payer's page. */
export function chargeToWire(charge: ChargeRow, paymentUrl: string): ChargeDetail {
  return {
    ...createdChargeToWire(charge),
    id: charge.id,
    external_id: charge.external_id,
    mode: charge.mode,
    client_name: charge.client_name,
    client_email: charge.client_email,
    client_doc: charge.client_doc,
    client_phone: charge.client_phone,
    ip: charge.ip,
    items: charge.items,
    utms: charge.utms,
    webhook_url: charge.webhook_url,
    expires_at: charge.expires_at,
    paid_at: charge.paid_at,
    end_to_end_id: charge.end_to_end_id,
    refunded_amount: cents(charge.refunded_amount),
    payment_url: paymentUrl,
    created_at: charge.created_at,
    updated_at: charge.updated_at,
  }
}
