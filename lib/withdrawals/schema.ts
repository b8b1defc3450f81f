import * as z from 'zod'
import { invalidInput } from '#lib/core/errors.ts'
import {
  cleanedText,
  externalId,
  httpsUrl,
  httpUrl,
  listCleaned,
  must,
  openApiMeta,
  text,
  wholeCents,
} from '#lib/core/fields.ts'
import type { Mode } from '#lib/core/mode.ts'
import { AMOUNT_MAX } from '#lib/core/money.ts'
import {
  inferPixKeyType,
  normalizePixKey,
  PIX_KEY_TYPES,
  type PixKeyProblem,
  type PixKeyType,
} from '#lib/core/pix/pix-key.ts'
import { isValidCnpj, isValidCpf } from '#lib/core/pix/tax-id.ts'

export type {
  ListedWithdrawal,
  ListedWithdrawalPage,
  WithdrawalRow,
} from '#lib/withdrawals/wire.ts'

export const WITHDRAWAL_AMOUNT_MIN = 1_000
const PIX_KEY_MAX = 77

const OWNER_DOC_MAX = 30
const OWNER_DOC_RULE = 'be a CPF or CNPJ with valid check digits'
const OWNER_DOC_DESCRIPTION =
  'CPF or CNPJ of the receiver, bare or formatted. The bank then rejects the withdrawal if the key belongs to another person or company. Default: the owner of the key is not checked.'

export const MEMO_LENGTH_MAX = 140
const MEMO_DESCRIPTION =
  'Note for your team, shown with the withdrawal. Neither the bank nor the receiver gets it. Default: none.'

const PIX_KEY_TYPE_DESCRIPTION =
  'Type of the key. Default: inferred from the key. Live mode requires it if the key is ambiguous (eleven digits can be a CPF or a mobile phone).'
const WEBHOOK_URL_DESCRIPTION =
  'URL that receives the events of the withdrawal: http or https, in live mode only https. If it contains a user name or a password, they are not stored, and no event is sent: check the signature of the events instead.'

const WithdrawalRequest = z.object({
  amount: wholeCents(WITHDRAWAL_AMOUNT_MIN, AMOUNT_MAX).meta(
    openApiMeta(
      'Amount to send, in cents. It is held at once and must not exceed the balance.',
      5000,
    ),
  ),
  pix_key: cleanedText()
    .max(PIX_KEY_MAX, must(`have at most ${PIX_KEY_MAX} characters`))
    .meta(openApiMeta('Destination Pix key.', 'ana@example.com')),
  pix_key_type: z
    .enum(PIX_KEY_TYPES, must(`be one of ${PIX_KEY_TYPES.join(', ')}`))
    .optional()
    .meta(openApiMeta(PIX_KEY_TYPE_DESCRIPTION, 'email')),
  owner_doc: cleanedText()
    .max(OWNER_DOC_MAX, must(OWNER_DOC_RULE))
    .refine(value => isValidCpf(value) || isValidCnpj(value), must(OWNER_DOC_RULE))
    .optional()
    .meta(openApiMeta(OWNER_DOC_DESCRIPTION, '529.982.247-25')),
  webhook_url: httpUrl.optional().meta(openApiMeta(WEBHOOK_URL_DESCRIPTION)),
  external_id: externalId.optional(),
  memo: cleanedText()
    .trim()
    .max(MEMO_LENGTH_MAX, must(`have at most ${MEMO_LENGTH_MAX} characters`))
    .optional()
    .meta(openApiMeta(MEMO_DESCRIPTION, 'Invoice 212')),
})
/** Lists the fields of a withdrawal that lose control characters. */
export function listIgnoredOfWithdrawal(content: Record<string, unknown>): string[] {
  return listCleaned(content, ['pix_key', 'owner_doc', 'memo'])
}
export type WithdrawalRequest = z.infer<typeof WithdrawalRequest>

/** Accepts any well-formed key in test mode; live mode applies the bank directory's rules. */
export const withdrawalRequest: Record<
  Mode,
  z.ZodType<WithdrawalRequest, z.input<typeof WithdrawalRequest>>
> = {
  test: WithdrawalRequest.check(validateKey('test')).meta({
    id: 'WithdrawalRequest',
    examples: [{ amount: 5000, pix_key: 'ana@example.com', pix_key_type: 'email' }],
  }),
  live: WithdrawalRequest.extend({ webhook_url: httpsUrl.optional() }).check(validateKey('live')),
}

const STRICTNESS = { test: 'form', live: 'dict' } as const

/** Returns a key's type and its form in the bank's directory, or the field and the broken rule. */
export function readPixKey(
  mode: Mode,
  { pix_key: text, pix_key_type: givenType }: Pick<WithdrawalRequest, 'pix_key' | 'pix_key_type'>,
):
  | { ok: true; type: PixKeyType; dictKey: string }
  | { ok: false; field: 'pix_key' | 'pix_key_type'; rule: string } {
  const strictness = STRICTNESS[mode]
  const inferred = givenType
    ? { ok: true as const, type: givenType }
    : inferPixKeyType(text, strictness)
  if (!inferred.ok) {
    return inferred.reason === 'ambiguous'
      ? { ok: false, field: 'pix_key_type', rule: 'be set: the key can be a CPF or a phone number' }
      : { ok: false, field: 'pix_key', rule: 'be a PIX key' }
  }
  const { type } = inferred
  const reading = normalizePixKey(type, text, strictness)
  if (reading.ok) return { ok: true, type, dictKey: reading.key }
  return { ok: false, field: 'pix_key', rule: ruleOf(type, reading.reason) }
}

export interface WithdrawalTerms {
  amount: number
  pixKeyType: PixKeyType
  /** The PIX key as the merchant wrote it. */
  pixKey: string
  /** The PIX key in the form of the bank's key directory. */
  dictKey: string
  /** Document of the receiver as the merchant wrote it; absent: the bank does not check the owner. */
  ownerDoc?: string
  webhookUrl?: string
  externalId?: string
  memo?: string
  /** Connection by which the account pays out in the mode. Default: in test mode the simulator, else none. */
  connectionId?: string | null
  /** Booking time; defaults to now, set only for demo data. */
  bookedAt?: Date
  /** Member who requested the withdrawal; absent for an API token. */
  by?: string | null
  /** Member who answers for the request and so may not approve it; absent: the operator. */
  requestedBy?: string | null
  /** Members who may know the token of the request, and so may not approve it either. */
  formerIssuers?: readonly string[]
}

export function toWithdrawalOrder(mode: Mode, body: WithdrawalRequest) {
  const reading = readPixKey(mode, body)
  if (!reading.ok) throw invalidInput(reading.field, `must ${reading.rule}`)
  return {
    amount: body.amount,
    pixKeyType: reading.type,
    pixKey: body.pix_key,
    dictKey: reading.dictKey,
    ownerDoc: body.owner_doc,
    webhookUrl: body.webhook_url,
    externalId: body.external_id,
    memo: body.memo || undefined,
  }
}

const KEY_FORMATS: Record<PixKeyType, string> = {
  cpf: 'a CPF of 11 digits',
  cnpj: 'a CNPJ of 14 characters',
  email: 'an e-mail address such as ana@example.com',
  phone: 'a phone number such as +5511987654321',
  random: 'a random key: a UUID with or without hyphens',
}

function ruleOf(type: PixKeyType, problem: PixKeyProblem): string {
  if (problem === 'check_digits') return `be ${KEY_FORMATS[type]} with valid check digits`
  if (problem === 'area_code') return 'have a valid area code'
  if (problem === 'too_long') return `have at most ${PIX_KEY_MAX} characters`
  return `be ${KEY_FORMATS[type]}`
}

/** Checks the key even if other fields are invalid: one response reports all problems. */
function validateKey(mode: Mode) {
  return z.superRefine<WithdrawalRequest>(
    (body, context) => {
      const reading = readPixKey(mode, body)
      if (!reading.ok)
        context.addIssue({ code: 'custom', path: [reading.field], message: `must ${reading.rule}` })
    },
    { when: ({ issues }) => !issues.some(({ path }) => String(path?.[0]).startsWith('pix_key')) },
  )
}

export const DecisionRequest = z
  .strictObject({
    outcome: z
      .enum(['approved', 'rejected', 'returned'], must('be approved, rejected or returned'))
      .meta(
        openApiMeta(
          'Decision of the receiving bank. `returned`: it sends back an approved withdrawal, or a part of it.',
          'rejected',
        ),
      ),
    reason: text(1, 255)
      .optional()
      .meta(openApiMeta('Reason for a rejection.', 'The receiving account is closed')),
    amount: wholeCents(1, AMOUNT_MAX)
      .optional()
      .meta(openApiMeta('Amount that is sent back, in cents. Default: all that is left.', 5000)),
  })
  .meta({ id: 'WithdrawalOutcome' })
export type DecisionRequest = z.infer<typeof DecisionRequest>
