import * as z from 'zod'
import {
  httpsUrl,
  instant,
  must,
  normalizeEmail,
  openApiMeta,
  properName,
  text,
  wholeCents,
} from '#lib/core/fields.ts'
import { LOCALES } from '#lib/core/locale.ts'
import { AMOUNT_MAX } from '#lib/core/money.ts'
import { foldText } from '#lib/core/pix/br-code.ts'
import { isValidCnpj, normalizeTaxId } from '#lib/core/pix/tax-id.ts'
import { ROLES, type Role } from '#lib/people/roles.ts'
import { newPassword, tokenDecisions } from '#lib/people/schema.ts'

/** suspended: tokens are refused and members only read; payments in progress still complete. */
export const ACCOUNT_STATUSES = ['active', 'pending', 'suspended'] as const
export type AccountStatus = (typeof ACCOUNT_STATUSES)[number]

export { ROLES, type Role }

export interface Account {
  id: string
  name: string
  city: string
  status: AccountStatus
  expiresIn: number
}

/** Characters of a name that a payer's bank shows. */
export const SHOWN_NAME_MAX = 25
/** Maximum length of the city in a Pix code. */
const CITY_MAX = 15
const EXPIRES_IN_RULE = 'be a whole number of seconds from 60 to 2592000'

/** A Pix code contains the text folded to its own letters, of which one must be left. */
function isPrintable(value: string): boolean {
  return foldText(value) !== ''
}
const CNPJ_RULE = 'be a CNPJ with valid check digits'
const accountName = properName(100).refine(isPrintable, must('contain a letter or digit'))

const AccountChange = z.object({
  name: accountName.meta(openApiMeta('Name shown to payers and their banks.')),
  city: text(1, CITY_MAX).refine(isPrintable, must('contain a letter or digit')),
  expires_in: z
    .int(must(EXPIRES_IN_RULE))
    .min(60, must(EXPIRES_IN_RULE))
    .max(2_592_000, must(EXPIRES_IN_RULE)),
  time_zone: z.string().refine(isTimeZone, must('be a time zone such as America/Sao_Paulo')),
  charge_review_above: limitSchema(0).meta(
    openApiMeta('Amount above which a member reviews a new charge; null: none.'),
  ),
  repeats_external_ids: z
    .boolean(must('be true or false'))
    .optional()
    .meta(openApiMeta('Whether charges may repeat an external_id. Absent: unchanged.')),
  shop_url: httpsUrl
    .nullish()
    .transform(value => value ?? null)
    .meta(openApiMeta('Where payers go after a payment; null: nowhere.')),
  cnpj: z
    .string(must(CNPJ_RULE))
    .refine(isValidCnpj, must(CNPJ_RULE))
    .transform(normalizeTaxId)
    .nullish()
    .transform(value => value ?? null)
    .meta(openApiMeta('CNPJ on receipts; null: none.')),
})
export type AccountChange = z.infer<typeof AccountChange>
export const accountChange = { test: AccountChange, live: AccountChange }

/** Live-mode limits in cents; null or absent is no limit. */
export const accountLimits = z.object({
  charge_max: limitSchema(500).meta(openApiMeta('Maximum amount of a charge.', 100_000)),
  withdrawal_max: limitSchema(1).meta(openApiMeta('Maximum amount of a withdrawal.', 500_000)),
  night_max: limitSchema(0).meta(
    openApiMeta('Maximum total of the withdrawals of one night.', 100_000),
  ),
  day_max: limitSchema(0).meta(
    openApiMeta('Maximum total of the withdrawals of one day in São Paulo.', 1_000_000),
  ),
})
export type AccountLimits = z.infer<typeof accountLimits>
export const LIMIT_NAMES = ['charge_max', 'withdrawal_max', 'night_max', 'day_max'] as const

/**
 * Which withdrawals need a second member: the first to each key, those above an amount, and those with
 * which the withdrawals of their mode and day (in São Paulo) exceed one. In cents.
 */
export const ApprovalRule = z.object({
  new_keys: z.boolean(must('be true or false')),
  above: limitSchema(0).meta(openApiMeta('Amount above which approval is needed; null: none.')),
  day_above: limitSchema(0).meta(
    openApiMeta('Total of a day in São Paulo above which approval is needed; null: none.'),
  ),
})
export type ApprovalRule = z.infer<typeof ApprovalRule>

export function isRuleOff({ new_keys, above, day_above }: ApprovalRule): boolean {
  return !new_keys && above === null && day_above === null
}

export const approvalRule = { test: ApprovalRule, live: ApprovalRule }

export const approvalConfirmation = z.object({ id: z.uuid(must('be the id of the change')) })

function limitSchema(amountMin: number) {
  return wholeCents(amountMin, AMOUNT_MAX).nullable().default(null)
}

function isTimeZone(name: string): boolean {
  return name === 'UTC' || Intl.supportedValuesOf('timeZone').includes(name)
}

export const INVITATION_DAYS = 7
export const INVITATIONS_MAX = 50

const Member = z.object({
  user_id: z.uuid(),
  full_name: z.string(),
  email: z.string(),
  role: z.enum(ROLES),
  joined_at: instant,
  /** Last use of any session of the user, in any account. */
  last_used_at: instant.nullable(),
  has_second_factor: z.boolean(),
})
export type MemberRow = z.infer<typeof Member>

const Invitation = z.object({
  id: z.uuid(),
  email: z.string(),
  role: z.enum(ROLES),
  invited_by: z.string().nullable(),
  created_at: instant,
  expires_at: instant,
  is_expired: z.boolean(),
})
export type InvitationRow = z.infer<typeof Invitation>

const EMAIL_RULE = 'be an e-mail address such as ana@example.com'
const EMAIL_LENGTH_MAX = 1_024
const personEmail = z
  .string(must(EMAIL_RULE))
  .max(EMAIL_LENGTH_MAX, must(EMAIL_RULE))
  .refine(typed => normalizeEmail(typed) !== null, must(EMAIL_RULE))
  .transform(typed => normalizeEmail(typed) ?? typed)
const personName = properName(100)
const roleName = z.enum(ROLES, must(`be one of ${ROLES.join(', ')}`))
const SECRET_RULE = 'be the secret of an invitation link'
const secret = z.string(must(SECRET_RULE)).regex(/^[\w-]{1,100}$/, must(SECRET_RULE))

const InvitationRequest = z.object({ email: personEmail, role: roleName })
export type InvitationRequest = z.infer<typeof InvitationRequest>
export const invitationRequest = { test: InvitationRequest, live: InvitationRequest }

const RoleChange = z.object({ role: roleName, tokens: tokenDecisions })
export const roleChange = { test: RoleChange, live: RoleChange }

const MemberRemoval = z.object({ tokens: tokenDecisions })
export const memberRemoval = { test: MemberRemoval, live: MemberRemoval }

export const openingRequest = z.object({ email: personEmail })

export const joinRequest = z.object({ secret })

/** `account_name`: required with an operator's invitation, which opens an account. */
export const newcomerRequest = z.object({
  secret,
  full_name: personName,
  password: newPassword,
  account_name: accountName.optional(),
})
export type NewcomerRequest = z.infer<typeof newcomerRequest>

/** Request for another account. `secret`: operator's invitation, optional if sign-up is open. */
export const accountRequest = z.object({ account_name: accountName, secret: secret.optional() })
export type AccountRequest = z.infer<typeof accountRequest>

/** `locale`: language of the mail to an e-mail that is not registered. */
export const signUpRequest = z.object({
  account_name: accountName,
  full_name: personName,
  email: personEmail,
  locale: z.enum(LOCALES, must(`be ${LOCALES.join(' or ')}`)).optional(),
})
export type SignUpRequest = z.infer<typeof signUpRequest>

export const signUpConfirmation = z.object({ secret, password: newPassword })
export type SignUpConfirmation = z.infer<typeof signUpConfirmation>

/** Maximum accounts that one request activates or suspends: four pages of the list. */
export const STATUS_CHANGES_MAX = 100

/** unchanged: the account had the status before. */
export const STATUS_OUTCOMES = ['changed', 'unchanged', 'not_found'] as const
type StatusOutcome = (typeof STATUS_OUTCOMES)[number]

export interface StatusChange {
  account_ids: string[]
  status: Exclude<AccountStatus, 'pending'>
  reason: string
}

export interface ChangedStatus {
  account_id: string
  outcome: StatusOutcome
}

export const AccountRead = z
  .object({
    name: z.string().meta(openApiMeta('Name of the account.', 'Loja Aurora')),
    balance: z.int().meta(openApiMeta("Available balance in the token's mode, in cents.", 1840217)),
  })
  .meta({ id: 'Account' })

export const AccountSettings = z.object({
  data: z.object({
    id: z.uuid(),
    name: z.string(),
    city: z.string(),
    expires_in: z.int(),
    time_zone: z.string(),
    charge_review_above: z.int().nullable(),
    repeats_external_ids: z.boolean(),
    shop_url: z.string().nullable(),
    cnpj: z.string().nullable(),
  }),
})

export const MemberList = z.object({
  data: z.object({ members: z.array(Member), invitations: z.array(Invitation) }),
})
export const InvitationList = z.object({ data: z.array(Invitation) })

/** `link` is returned only once: null in the response to a repeated request. */
/** An invitation of the operator's, whose link is always shown. */
export const MerchantInvited = z.object({
  data: z.object({ id: z.uuid(), link: z.string(), is_mailed: z.boolean() }),
})

export const InvitationCreated = z.object({
  data: z.object({
    id: z.uuid(),
    link: z.string().nullable(),
    /** Whether a mail server is configured to send the invitation. */
    is_mailed: z.boolean(),
  }),
})

export const Joined = z.object({ data: z.object({ account_id: z.uuid(), role: z.enum(ROLES) }) })
export const JoinedAsNew = z.object({ data: Joined.shape.data.extend({ email: z.string() }) })

export const AccountOpened = z.object({
  data: z.object({ account_id: z.uuid(), status: z.enum(ACCOUNT_STATUSES) }),
})
export const SignedUp = z.object({
  data: AccountOpened.shape.data.extend({ email: z.string() }),
})
