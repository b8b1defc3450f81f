import * as z from 'zod'
import {
  email,
  externalId,
  freeObject,
  httpsUrl,
  httpUrl,
  isObject,
  must,
  text,
  wholeCents,
} from '#lib/fields.ts'
import type { Mode } from '#lib/mode.ts'
import { AMOUNT_MAX } from '#lib/money.ts'
import { isValidCnpj, isValidCpf, taxIdKind } from '#lib/pix/tax-id.ts'

export const CHARGE_AMOUNT_MIN = 500
const METADATA_KEYS_MAX = 20
const ITEMS_MAX = 50
const OBJECT_BYTES_MAX = 16 * 1024
const EXPIRES_IN_MIN = 60
const EXPIRES_IN_MAX = 30 * 86_400

/**
 * opening: a bank is being asked for a code; nobody may pay yet, nobody is told of it.
 * pending: payable. paid: the amount is in `available`; final.
 * expired, failed: no money has come. The bank may still report a payment later: then it is paid.
 */
export const CHARGE_STATUSES = ['pending', 'paid', 'expired', 'failed'] as const
export type ChargeStatus = (typeof CHARGE_STATUSES)[number]

const numeric = z.union(
  [z.number(), z.string().refine(isNumeric, must('be a number'))],
  must('be a number'),
)

function isNumeric(text: string): boolean {
  return Number.isFinite(Number(text.replace(',', '.')))
}

const Item = z.looseObject(
  {
    name: z.string(must('be a string')).nullish(),
    price: numeric.nullish(),
    quantity: numeric.nullish(),
  },
  must('be an object'),
)

/** Judged, but kept as sent: a parsed copy would order and drop keys. */
function judgeItems(items: Record<string, unknown>[], context: z.RefinementCtx): void {
  for (const [at, item] of items.entries()) {
    for (const issue of Item.safeParse(item).error?.issues ?? []) {
      context.addIssue({ code: 'custom', path: [at, ...issue.path], message: issue.message })
    }
  }
}

const expiry = `be a whole number of seconds from ${EXPIRES_IN_MIN} to ${EXPIRES_IN_MAX}`

const ChargeRequest = z.object({
  amount: wholeCents(CHARGE_AMOUNT_MIN, AMOUNT_MAX),
  client_name: text(1, 255),
  client_email: email,
  client_doc: z
    .string(must('be a string'))
    .refine(
      value => taxIdKind(value) !== null,
      must('be a CPF (11 digits) or a CNPJ (14 characters)'),
    ),
  client_phone: z
    .string(must('be a string'))
    .max(30, must('have at most 30 characters'))
    .optional(),
  webhook_url: httpUrl.optional(),
  ip: z.union([z.ipv4(), z.ipv6()], must('be an IPv4 or IPv6 address')).optional(),
  metadata: freeObject(OBJECT_BYTES_MAX)
    .refine(
      value => Object.keys(value).length <= METADATA_KEYS_MAX,
      must(`have at most ${METADATA_KEYS_MAX} keys`),
    )
    .optional(),
  utms: freeObject(OBJECT_BYTES_MAX).optional(),
  items: z
    .array(
      z.custom<Record<string, unknown>>(isObject, must('be an object')),
      must('be a list of objects'),
    )
    .max(ITEMS_MAX, must(`have at most ${ITEMS_MAX} entries`))
    .superRefine(judgeItems)
    .optional(),
  external_id: externalId.optional(),
  expires_in: z
    .int(must(expiry))
    .min(EXPIRES_IN_MIN, must(expiry))
    .max(EXPIRES_IN_MAX, must(expiry))
    .optional(),
})
export type ChargeRequest = z.infer<typeof ChargeRequest>

/** Live mode judges a document as the bank will; test mode takes any that is well formed. */
export const chargeRequest: Record<Mode, z.ZodType<ChargeRequest>> = {
  test: ChargeRequest,
  live: ChargeRequest.extend({
    client_doc: ChargeRequest.shape.client_doc.refine(
      value => isValidCpf(value) || isValidCnpj(value),
      must('be a CPF or CNPJ with right check digits'),
    ),
    webhook_url: httpsUrl.optional(),
  }),
}

/** A row as the queries of this room select it. */
export interface ChargeRow {
  id: string
  external_id: string
  mode: Mode
  status: ChargeStatus
  amount: bigint | number
  br_code: string
  metadata: Record<string, unknown> | null
  client_name: string
  client_email: string
  client_doc: string
  client_phone: string | null
  ip: string | null
  items: Record<string, unknown>[] | null
  utms: Record<string, unknown> | null
  webhook_url: string | null
  expires_at: string
  paid_at: string | null
  end_to_end_id: string | null
  refunded_amount: bigint | number
  created_at: string
  updated_at: string
}

export type CreatedCharge = Pick<ChargeRow, 'id' | 'br_code' | 'amount' | 'status' | 'metadata'>

export const OutcomeRequest = z.object({
  outcome: z.enum(['paid', 'failed', 'expired'], must('be paid, failed or expired')),
})
export type ChargeOutcome = z.infer<typeof OutcomeRequest>['outcome']
