import * as z from 'zod'
import { DESCRIPTION_LENGTH_MAX } from '#lib/charges/states.ts'
import { isRawNumber } from '#lib/core/exact-json.ts'
import {
  cleanedText,
  email,
  externalId,
  freeObject,
  httpsUrl,
  httpUrl,
  isObject,
  listCleaned,
  listOf,
  must,
  openApiMeta,
  text,
  wholeCents,
} from '#lib/core/fields.ts'
import type { Mode } from '#lib/core/mode.ts'
import { AMOUNT_MAX } from '#lib/core/money.ts'
import { isPlaceholderTaxId, isValidCnpj, isValidCpf, taxIdKind } from '#lib/core/pix/tax-id.ts'

export type {
  ChargeRow,
  ChargeTotals,
  CreatedCharge,
  ListedCharge,
} from '#lib/charges/wire.ts'

export const CHARGE_AMOUNT_MIN = 500
const METADATA_KEYS_MAX = 20
const ITEMS_MAX = 50
const OBJECT_BYTES_MAX = 16 * 1024
export const EXPIRES_IN_MIN = 60
export const EXPIRES_IN_MAX = 30 * 86_400

const numeric = z.union(
  [z.number(), z.string().refine(isNumeric, must('be a number'))],
  must('be a number'),
)

function isNumeric(text: string): boolean {
  return Number.isFinite(Number(text.replace(',', '.')))
}

const Item = z
  .looseObject(
    {
      name: z
        .string(must('be a string'))
        .nullish()
        .meta(openApiMeta('Name of the item.', 'Café especial 1 kg')),
      price: numeric
        .nullish()
        .meta(openApiMeta('Price, in cents. A string must contain a number.', 1500)),
      quantity: numeric.nullish().meta(openApiMeta('Quantity. A string must contain a number.', 1)),
    },
    must('be an object'),
  )
  .meta({ id: 'Item', ...openApiMeta('Item of the charge. Additional keys are stored as sent.') })

/** Validates items but leaves them as sent: a parsed copy would reorder and drop keys. */
function validateItems(items: Record<string, unknown>[], context: z.RefinementCtx): void {
  for (const [index, item] of items.entries()) {
    for (const issue of Item.safeParse(toPlainNumbers(item)).error?.issues ?? []) {
      context.addIssue({ code: 'custom', path: [index, ...issue.path], message: issue.message })
    }
  }
}

function toPlainNumbers(item: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(item).map(([key, value]) => [
    key,
    isRawNumber(value) ? Number(value.rawJSON) : value,
  ])
  return Object.fromEntries(entries)
}

const TAX_ID_DESCRIPTION =
  'CPF (11 digits) or CNPJ (14 characters, letters included) of the payer, bare or formatted. Live mode also verifies the check digits.'
const WEBHOOK_URL_DESCRIPTION =
  'URL that receives the events of the charge: http or https, in live mode only https. If it contains a user name or a password, they are not stored, and no event is sent: check the signature of the events instead.'
const OBJECT_RULE = `at most ${OBJECT_BYTES_MAX / 1024} KiB as JSON`
const ITEMS_DESCRIPTION =
  'Items of the charge. Purely descriptive: they create no products and do not change `amount`. The sum of price × quantity should equal `amount`.'
const EXPIRES_IN_RULE = `be a whole number of seconds from ${EXPIRES_IN_MIN} to ${EXPIRES_IN_MAX}`

const ipAddress = z.union([z.ipv4(), z.ipv6()])

const CLEANED_FIELDS = ['client_name', 'client_email', 'client_doc', 'client_phone'] as const

/** Lists the fields of a charge whose value is ignored, or loses control characters. An `ip` that is no string is refused. */
export function listIgnoredOfCharge(content: Record<string, unknown>): string[] {
  const { ip } = content
  const isRead = typeof ip !== 'string' || ip === '' || ipAddress.safeParse(ip).success
  return [...listCleaned(content, CLEANED_FIELDS), ...(isRead ? [] : ['ip'])]
}

const ChargeRequest = z
  .object({
    amount: wholeCents(CHARGE_AMOUNT_MIN, AMOUNT_MAX).meta(
      openApiMeta('Amount to charge, in cents.', 1500),
    ),
    client_name: cleanedText()
      .trim()
      .min(1, must('have 1 to 255 characters'))
      .max(255, must('have 1 to 255 characters'))
      .meta(openApiMeta('Full name of the payer.', 'Ana Beatriz Rocha')),
    client_email: cleanedText()
      .pipe(email)
      .meta({ like: email, ...openApiMeta('E-mail of the payer.', 'ana@example.com') }),
    client_doc: cleanedText()
      .refine(
        value => taxIdKind(value) !== null,
        must('be a CPF (11 digits) or a CNPJ (14 characters)'),
      )
      .meta(openApiMeta(TAX_ID_DESCRIPTION, '529.982.247-25')),
    client_phone: cleanedText()
      .max(30, must('have at most 30 characters'))
      .optional()
      .meta(openApiMeta('Phone of the payer.', '+55 11 98765-4321')),
    webhook_url: httpUrl.optional().meta(openApiMeta(WEBHOOK_URL_DESCRIPTION)),
    ip: z
      .string(must('be a string'))
      .transform(value => (ipAddress.safeParse(value).success ? value : undefined))
      .optional()
      .meta({
        like: ipAddress.optional(),
        ...openApiMeta(
          'IP address of the payer. Default: the client address of the request. One that cannot be read counts as absent, and `X-Ignored-Fields` names it.',
          '203.0.113.7',
        ),
      }),
    metadata: freeObject(OBJECT_BYTES_MAX, METADATA_KEYS_MAX)
      .refine(
        value => Object.keys(value).length <= METADATA_KEYS_MAX,
        must(`have at most ${METADATA_KEYS_MAX} keys`),
      )
      .optional()
      .meta(
        openApiMeta(`Your own data; ${OBJECT_RULE}. Returned as sent.`, {
          order: 1048,
        }),
      ),
    utms: freeObject(OBJECT_BYTES_MAX)
      .optional()
      .meta(openApiMeta(`Tracking parameters; ${OBJECT_RULE}.`, { utm_source: 'instagram' })),
    items: listOf(
      z.custom<Record<string, unknown>>(isObject, must('be an object')).meta({ like: Item }),
      ITEMS_MAX,
      { rule: 'be a list of objects' },
    )
      .superRefine(validateItems)
      .optional()
      .meta(openApiMeta(ITEMS_DESCRIPTION)),
    external_id: externalId.optional(),
    expires_in: z
      .int(must(EXPIRES_IN_RULE))
      .min(EXPIRES_IN_MIN, must(EXPIRES_IN_RULE))
      .max(EXPIRES_IN_MAX, must(EXPIRES_IN_RULE))
      .optional()
      .meta(
        openApiMeta(
          'Seconds until the charge expires. Default: the setting of the account, initially one day.',
          3600,
        ),
      ),
  })
  .meta({ id: 'ChargeRequest' })
export type ChargeRequest = z.infer<typeof ChargeRequest>

/** `description`: what the payer reads, if it is known at once. */
export type DescribedRequest = ChargeRequest & { description?: string | undefined }

/** Live mode verifies check digits, as the bank does, and requires https. */
export const chargeRequest: Record<
  Mode,
  z.ZodType<ChargeRequest, z.input<typeof ChargeRequest>>
> = {
  test: ChargeRequest,
  live: ChargeRequest.extend({
    client_doc: ChargeRequest.shape.client_doc.refine(
      value => isValidCpf(value) || isValidCnpj(value) || isPlaceholderTaxId(value),
      must('be a CPF or CNPJ with valid check digits'),
    ),
    webhook_url: httpsUrl.optional(),
  }),
}

/** A cancellation has no fields; unknown ones are ignored. */
const CancelRequest = z.object({}).meta({ id: 'CancelRequest', examples: [{}] })

export const cancelRequest: Record<Mode, typeof CancelRequest> = {
  test: CancelRequest,
  live: CancelRequest,
}

/** Without a description, as with an empty one, the charge has none. */
const DescriptionRequest = z
  .object({
    description: text(1, DESCRIPTION_LENGTH_MAX)
      .optional()
      .meta(openApiMeta('Text for the payer.', 'Mensalidade de novembro')),
  })
  .meta({ id: 'DescriptionRequest', examples: [{ description: 'Mensalidade de novembro' }] })

export const descriptionRequest: Record<Mode, typeof DescriptionRequest> = {
  test: DescriptionRequest,
  live: DescriptionRequest,
}

export const OutcomeRequest = z
  .strictObject({
    outcome: z
      .enum(['paid', 'failed', 'expired'], must('be paid, failed or expired'))
      .meta(openApiMeta('New status of the charge.', 'paid')),
  })
  .meta({ id: 'ChargeOutcome' })
export type ChargeOutcome = z.infer<typeof OutcomeRequest>['outcome']
