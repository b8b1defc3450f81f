import * as z from 'zod'
import { CHARGE_STATUSES } from '#lib/charges/states.ts'
import { anyObject, instant, modeField, openApiMeta, pageOf, pickFields } from '#lib/core/fields.ts'

const ID = '01a1fbb6-bf1b-7d40-9b0e-5f0f2d1c88aa'
const BR_CODE =
  '00020101021226770014br.gov.bcb.pix2555pix.example.test/qr/v2/01a1fbb6bf1b7d409b0e5f0f2d1c88aa520400005303986540515.005802BR5911Loja Aurora6009Sao Paulo62070503***6304FD02'
const END_TO_END_ID_EXAMPLE = 'E00000000202611210128a1b2c3d4e5f'
const PAYMENT_URL = 'https://pix.shop.example/pay/bXkQ0m1xZ0F5c2VjcmV0IQ'
const QR_CODE_URL = `https://pix.shop.example/api/transactions/${ID}/qr.svg`
const STATUS_DESCRIPTION =
  'A charge is created `pending`. `paid` is final: the amount is in the balance.'

const DOCUMENT_DESCRIPTION =
  'CPF or CNPJ of the payer. Masked, as in `***.982.247-**`, for a token without `payers:read`.'

const CANCELLED_AT_DESCRIPTION =
  'Time of cancellation, only if you cancelled the charge. Its status is `expired`, or `paid` after a late payment.'

const RETURNED_DESCRIPTION =
  'Amount that the bank returned to the payer without a refund of yours, in cents, only if there is one. What was lost in a dispute is not in it.'

const NATURE_DESCRIPTION =
  'Reason, as the bank names it, or null. `MED_…`: the payer’s bank demanded the money, as after a dispute. `ORIGINAL`: a person returned it at the bank. There can be others.'

const DESCRIPTION_DESCRIPTION = 'Text for the payer, only if there is one.'

const PAYER_DESCRIPTION =
  'Who paid, as the bank reports it, only once the charge is paid and only if the bank reports it. `client_name` and `client_doc` are what your program sent: another person may have paid.'

const ChargeStatus = z
  .enum(CHARGE_STATUSES)
  .meta({ id: 'ChargeStatus', ...openApiMeta(STATUS_DESCRIPTION, 'pending') })

const createdFields = {
  transaction_id: z.uuid().meta(openApiMeta('Id of the charge.', ID)),
  br_code: z
    .string()
    .meta(
      openApiMeta('Pix code that the payer copies or scans: the text of the QR code.', BR_CODE),
    ),
  amount: z.int().meta(openApiMeta('Amount, in cents.', 1500)),
  status: ChargeStatus,
  metadata: anyObject.nullable().meta(openApiMeta('Metadata as sent, or null.', { order: 1048 })),
}
const success = z.literal('success').meta(openApiMeta('Always `success` with status 200.'))

const detailFields = {
  ...createdFields,
  status: ChargeStatus.meta({ examples: ['paid'] }),
  id: z.uuid().meta(openApiMeta('The same as `transaction_id`.', ID)),
  external_id: z
    .string()
    .meta(openApiMeta('Your reference. Default: the id without hyphens.', 'order-1048')),
  mode: modeField,
  client_name: z.string().meta(openApiMeta('Name of the payer.', 'Ana Beatriz Rocha')),
  client_email: z.string().meta(openApiMeta('E-mail of the payer.', 'ana@example.com')),
  client_doc: z.string().meta(openApiMeta(DOCUMENT_DESCRIPTION, '529.982.247-25')),
  client_phone: z.string().nullable().meta(openApiMeta('Phone of the payer.', '+55 11 98765-4321')),
  ip: z
    .string()
    .nullable()
    .meta(
      openApiMeta('IP address of the payer, or the client address of the request.', '203.0.113.7'),
    ),
  items: z
    .array(anyObject)
    .nullable()
    .meta(
      openApiMeta('Items as sent, or null.', [
        { name: 'Café especial 1 kg', price: 1500, quantity: 1 },
      ]),
    ),
  utms: anyObject
    .nullable()
    .meta(openApiMeta('Parameters as sent, or null.', { utm_source: 'instagram' })),
  webhook_url: z
    .string()
    .nullable()
    .meta(openApiMeta('URL that receives the events, or null.', 'https://shop.example/hooks/pix')),
  expires_at: instant.meta(openApiMeta('Time of expiry.', '2026-11-21T02:27:00.123456Z')),
  paid_at: instant
    .nullable()
    .meta(openApiMeta('Time of payment, or null.', '2026-11-21T01:28:12.004211Z')),
  end_to_end_id: z
    .string()
    .nullable()
    .meta(
      openApiMeta('End-to-end id of the payment, 32 characters, or null.', END_TO_END_ID_EXAMPLE),
    ),
  refunded_amount: z.int().meta(openApiMeta('Refunded amount, in cents.', 0)),
  payment_url: z
    .string()
    .meta(openApiMeta('URL of the payment page, with the QR code.', PAYMENT_URL)),
  created_at: instant.meta(openApiMeta('Time of creation.', '2026-11-21T01:27:00.123456Z')),
  updated_at: instant.meta(openApiMeta('Time of the last change.', '2026-11-21T01:28:12.004211Z')),
}

const PAYER_EXAMPLE = { name: 'Ana Beatriz Rocha', document: '***.982.247-**', bank: '00000000' }

const Payer = z.object({
  name: z
    .string()
    .meta(openApiMeta('Name of the owner of the account that paid.', PAYER_EXAMPLE.name)),
  document: z
    .string()
    .nullable()
    .meta(openApiMeta('CPF or CNPJ of the owner, always masked, or null.', PAYER_EXAMPLE.document)),
  bank: z
    .string()
    .nullable()
    .meta(
      openApiMeta('Bank of the account: usually its ISPB, 8 digits, or null.', PAYER_EXAMPLE.bank),
    ),
})

export const ChargeDetail = z
  .object({
    ...detailFields,
    cancelled_at: instant
      .optional()
      .meta(openApiMeta(CANCELLED_AT_DESCRIPTION, '2026-11-21T01:28:12.004211Z')),
    returned_amount: z.int().optional().meta(openApiMeta(RETURNED_DESCRIPTION, 1500)),
    description: z
      .string()
      .optional()
      .meta(openApiMeta(DESCRIPTION_DESCRIPTION, 'Mensalidade de novembro')),
    payer: Payer.optional().meta(openApiMeta(PAYER_DESCRIPTION, PAYER_EXAMPLE)),
  })
  .meta({ id: 'Charge' })
export type ChargeDetail = z.infer<typeof ChargeDetail>

const CREATED_EXAMPLE = {
  transaction_id: ID,
  br_code: BR_CODE,
  amount: 1500,
  status: 'pending',
  metadata: { order: 1048 },
}

/** A response has the optional fields, all of them, only if the request prefers the representation. */
export const ChargeCreated = z
  .object({
    status: success,
    data: z
      .object({
        ...z.object(detailFields).partial().shape,
        ...createdFields,
        qr_code_url: z
          .string()
          .optional()
          .meta(openApiMeta('URL of the QR code as SVG, for requests with a token.', QR_CODE_URL)),
      })
      .meta({ examples: [CREATED_EXAMPLE] }),
  })
  .meta({ id: 'ChargeCreated' })

/** Money of a charge that the bank gave back by itself, in an event. */
export const ReturnDetail = z
  .object({
    id: z
      .string()
      .meta(openApiMeta('Id of the return at the bank.', 'D00000000202611221015a1b2c3d4e5f')),
    amount: z.int().meta(openApiMeta('Returned amount, in cents.', 1500)),
    nature: z.string().nullable().meta(openApiMeta(NATURE_DESCRIPTION, 'MED_FRAUDE')),
    returned_at: instant.meta(openApiMeta('Time of the return.', '2026-11-22T10:15:00.000000Z')),
  })
  .meta({ id: 'ReturnDetail' })

export const ListedCharge = ChargeDetail.pick({
  id: true,
  status: true,
  amount: true,
  refunded_amount: true,
  external_id: true,
  client_name: true,
  created_at: true,
}).extend({
  cancelled_at: instant
    .nullable()
    .meta(openApiMeta('When the charge was cancelled, or null.', null)),
})
export type ListedCharge = z.infer<typeof ListedCharge>
export const ListedChargePage = pageOf(ListedCharge)

/** Row as the queries of charges select it. `chargeToWire` adds `transaction_id` and `payment_url`. */
export type ChargeRow = Omit<
  ChargeDetail,
  'transaction_id' | 'payment_url' | 'cancelled_at' | 'description' | 'payer' | 'returned_amount'
> & {
  /** Absent in earlier events. */
  cancelled_at?: string | null
  description?: string | null
  returned_amount?: number
  payer?: ChargeDetail['payer'] | null
  /** Whether `webhook_url` receives the document masked. Absent in earlier events: it does not. */
  webhook_masked?: boolean
}
export type CreatedCharge = Pick<ChargeRow, 'id' | 'br_code' | 'amount' | 'status' | 'metadata'>

export const ChargeRead = z
  .object({ status: success, data: ChargeDetail })
  .meta({ id: 'ChargeRead' })
export const ChargePage = pageOf(ChargeDetail).meta({ id: 'ChargePage' })

export const ChargesTotal = z.object({
  count: z.int(),
  amount: z.int(),
  paid_amount: z.int(),
  /** False: there are more charges, and the other three values are lower bounds. */
  is_exact: z.boolean(),
})
export type ChargeTotals = z.infer<typeof ChargesTotal>

export const DocumentRead = z.object({ data: z.object({ document: z.string() }) })

export function createdChargeToWire(charge: CreatedCharge) {
  return pickFields(createdFields, { ...charge, transaction_id: charge.id })
}

/** Makes one object, without copies: a list has a hundred charges. */
export function chargeToWire(charge: ChargeRow, paymentUrl: string): ChargeDetail {
  const { id, cancelled_at, returned_amount, description, payer } = charge
  // In the order of the fields, in which these two stand where others follow.
  const wire: ChargeDetail = pickFields(detailFields, charge as ChargeDetail)
  wire.transaction_id = id
  wire.payment_url = paymentUrl
  if (cancelled_at) wire.cancelled_at = cancelled_at
  if (returned_amount) wire.returned_amount = returned_amount
  if (description) wire.description = description
  if (payer) wire.payer = payer
  return wire
}

export const MismatchedPayment = z
  .object({
    end_to_end_id: z
      .string()
      .meta(openApiMeta('End-to-end id of the payment.', 'E12345678202611210127a1b2c3d4e5f')),
    amount: z.int().meta(openApiMeta('Amount that was paid, in cents.', 1400)),
    paid_at: instant.meta(openApiMeta('Time of the payment.', '2026-11-21T01:27:41.000000Z')),
  })
  .meta({ id: 'MismatchedPayment' })
