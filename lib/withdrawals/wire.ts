import * as z from 'zod'
import { rejectionCodeField } from '#lib/banks/gateway.ts'
import { instant, modeField, openApiMeta, pageOf, pickFields } from '#lib/core/fields.ts'
import { PIX_KEY_TYPES } from '#lib/core/pix/pix-key.ts'
import { maskTaxId } from '#lib/core/pix/tax-id.ts'
import { AWAITED, WITHDRAWAL_STATUSES } from '#lib/withdrawals/states.ts'

const STATUS_DESCRIPTION =
  '`pending`: the amount is held. `approved`: it has left the account. `rejected`: it has returned to the balance.'
const AWAITING_DESCRIPTION =
  'What a pending withdrawal waits for, or null. `approval`: a second member of the account. `balance_window`: its turn, because the bank takes a limited number of payments at a time and per period, and payments can be paused. `bank`: it was sent, and the bank has not confirmed it.'
const END_TO_END_ID_DESCRIPTION =
  'End-to-end id of the payment, 32 characters, or null. It can be known while the withdrawal is pending.'

const OWNER_DOC_DESCRIPTION =
  'CPF or CNPJ of the receiver as sent, if one was. Masked for tokens without `payers:read`, and in events.'

const MEMO_DESCRIPTION = 'Note for your team, if there is one.'

const WithdrawalStatus = z
  .enum(WITHDRAWAL_STATUSES)
  .meta({ id: 'WithdrawalStatus', ...openApiMeta(STATUS_DESCRIPTION, 'pending') })

const createdFields = {
  id: z.uuid().meta(openApiMeta('Id of the withdrawal.', '01a1fbb9-7fa1-7c33-8f6a-2f1f5a0e9c41')),
  amount: z.int().meta(openApiMeta('Amount, in cents.', 5000)),
  status: WithdrawalStatus,
  pix_key_type: z
    .enum(PIX_KEY_TYPES)
    .meta(openApiMeta('Type as sent, or as inferred from the key.', 'email')),
  pix_key: z.string().meta(openApiMeta('Destination key as sent.', 'ana@example.com')),
  created_at: instant.meta(openApiMeta('Time of creation.', '2026-11-21T01:30:00.481516Z')),
}

export const WithdrawalCreated = z
  .object({
    message: z.string().meta(openApiMeta('Message for people.', 'Withdrawal created')),
    data: z.object(createdFields),
  })
  .meta({ id: 'WithdrawalCreated' })

const detailFields = {
  ...createdFields,
  status: WithdrawalStatus.meta({ examples: ['approved'] }),
  external_id: z.string().nullable().meta(openApiMeta('Your reference, or null.', 'payout-77')),
  mode: modeField,
  webhook_url: z
    .string()
    .nullable()
    .meta(openApiMeta('URL that receives the events, or null.', 'https://shop.example/hooks/pix')),
  rejection_reason: z
    .string()
    .nullable()
    .meta(openApiMeta('Reason of the rejection, or null.', null)),
  rejection_code: rejectionCodeField,
  awaiting: z.enum(AWAITED).nullable().meta(openApiMeta(AWAITING_DESCRIPTION, null)),
  end_to_end_id: z
    .string()
    .nullable()
    .meta(openApiMeta(END_TO_END_ID_DESCRIPTION, 'E0000000020261121013061b2c3d4e5f')),
  approved_at: instant
    .nullable()
    .meta(openApiMeta('Time of approval, or null.', '2026-11-21T01:30:01.502913Z')),
  rejected_at: instant.nullable().meta(openApiMeta('Time of rejection, or null.', null)),
  returned_amount: z
    .int()
    .meta(openApiMeta('Amount that the receiver’s bank has sent back since, in cents.', 0)),
  updated_at: instant.meta(openApiMeta('Time of the last change.', '2026-11-21T01:30:01.502913Z')),
}

export const WithdrawalDetail = z
  .object({
    ...detailFields,
    owner_doc: z.string().optional().meta(openApiMeta(OWNER_DOC_DESCRIPTION, '529.982.247-25')),
    memo: z.string().optional().meta(openApiMeta(MEMO_DESCRIPTION, 'Invoice 212')),
  })
  .meta({ id: 'Withdrawal' })
export type WithdrawalDetail = z.infer<typeof WithdrawalDetail>

export type WithdrawalRow = Omit<WithdrawalDetail, 'owner_doc' | 'memo'> & {
  owner_doc?: string | null
  memo?: string | null
}

export const WithdrawalRead = z.object({ data: WithdrawalDetail }).meta({ id: 'WithdrawalRead' })
export const WithdrawalPage = pageOf(WithdrawalDetail).meta({ id: 'WithdrawalPage' })

/** A row of the dashboard's list. */
export const ListedWithdrawal = WithdrawalDetail.pick({
  id: true,
  mode: true,
  external_id: true,
  status: true,
  amount: true,
  returned_amount: true,
  pix_key_type: true,
  pix_key: true,
  awaiting: true,
  rejection_code: true,
  rejection_reason: true,
  created_at: true,
}).extend({
  /** As the bank names the receiver; null as long as it has not. */
  payee: z.object({ name: z.string(), masked_doc: z.string().nullable() }).nullable(),
  memo: z.string().nullable(),
})
export type ListedWithdrawal = z.infer<typeof ListedWithdrawal>
const WithdrawalTotals = z.object({
  count: z.int(),
  amount: z.int(),
  /** False: there are more withdrawals, and the other two values are lower bounds. */
  is_exact: z.boolean(),
})
export type WithdrawalTotals = z.infer<typeof WithdrawalTotals>
export const ListedWithdrawalPage = pageOf(ListedWithdrawal, { total: WithdrawalTotals })
export type ListedWithdrawalPage = z.infer<typeof ListedWithdrawalPage>

export function createdWithdrawalToWire(withdrawal: WithdrawalRow) {
  return pickFields(createdFields, withdrawal)
}

/** Masks the receiver's document: docs/decisions/023. */
export function maskWithdrawal({ owner_doc, ...withdrawal }: WithdrawalDetail): WithdrawalDetail {
  return owner_doc ? { ...withdrawal, owner_doc: maskTaxId(owner_doc) } : withdrawal
}

/** Mask of a response that is one withdrawal. */
export function maskWithdrawalRead({ data }: z.infer<typeof WithdrawalRead>) {
  return { data: maskWithdrawal(data) }
}

export function withdrawalToWire(withdrawal: WithdrawalRow): WithdrawalDetail {
  return maskWithdrawal(serializeWithdrawal(withdrawal))
}

/** Serializes in wire order. Rows that older versions stored in events have others, and fewer, fields. */
export function serializeWithdrawal({
  owner_doc,
  memo,
  ...withdrawal
}: WithdrawalRow): WithdrawalDetail {
  const returned_amount = withdrawal.returned_amount ?? 0
  const detail = pickFields(detailFields, { ...withdrawal, returned_amount })
  return { ...detail, ...(owner_doc && { owner_doc }), ...(memo && { memo }) }
}
