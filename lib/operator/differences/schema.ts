import * as z from 'zod'
import { CHARGE_STATUSES } from '#lib/charges/states.ts'
import { attachmentField } from '#lib/core/attachments.ts'
import { fileLocale, instant, listQuery, must, pageOf } from '#lib/core/fields.ts'
import { MODES } from '#lib/core/mode.ts'
import { BANK, ENTRIES, OPERATOR } from '#lib/differences/states.ts'
import { reasonRequest } from '#lib/operator/schema.ts'

/** `acknowledged`: without an entry, so that the difference stays. */
export const DIFFERENCE_STATES = ['open', 'acknowledged', 'resolved'] as const
/** Ages in days by which a list is filtered. */
export const DIFFERENCE_AGES = ['1', '7', '30'] as const

const KIND_MAX = 60
const { cursor, limit } = listQuery([]).shape

export const differenceFilters = z.object({
  state: z.enum(DIFFERENCE_STATES, must(`be one of ${DIFFERENCE_STATES.join(', ')}`)).optional(),
  kind: z
    .string()
    .regex(/^[a-z_]+$/, must('be the kind of an item'))
    .max(KIND_MAX, must(`have at most ${KIND_MAX} characters`))
    .optional(),
  connection: z.uuid(must('be the id of a connection')).optional(),
  /** Days: only items that are older. */
  age: z.enum(DIFFERENCE_AGES, must(`be one of ${DIFFERENCE_AGES.join(', ')}`)).optional(),
})
export type DifferenceFilters = z.infer<typeof differenceFilters>
export const differenceQuery = differenceFilters.extend({ cursor, limit })
export const differenceExportQuery = differenceFilters.extend({ locale: fileLocale })

/** Which account gets the money, or which charge it pays. */
export const resolveRequest = z
  .strictObject({
    ...reasonRequest.shape,
    entry: z.enum(ENTRIES, must(`be one of ${ENTRIES.join(', ')}`)),
    account_id: z.uuid(must('be the id of an account')).optional(),
    transaction_id: z.uuid(must('be the id of a transaction')).optional(),
  })
  .refine(({ entry, account_id }) => entry !== 'credit' || account_id !== undefined, {
    path: ['account_id'],
    ...must('name the account that gets the money'),
  })
  .refine(({ entry, transaction_id }) => entry !== 'match' || transaction_id !== undefined, {
    path: ['transaction_id'],
    ...must('name the transaction that the payment pays'),
  })

/** Who pays and who gets the money: `bank`, `operator` or the id of an account. */
const partyField = z.union(
  [z.literal(BANK), z.literal(OPERATOR), z.uuid()],
  must('be bank, operator or the id of an account'),
)
export const correctionRequest = z.strictObject({
  ...reasonRequest.shape,
  from: partyField,
  to: partyField,
  amount: z.int(must('be a whole number of cents')).min(1, must('be at least 1')),
  attachment: attachmentField,
})

const cents = z.int()
const party = z.object({ id: z.uuid(), name: z.string() })

export const DifferenceLine = z.object({
  id: z.uuid(),
  /** One of those in lib/differences/differences.ts, or of a later version. */
  kind: z.string(),
  connection: party,
  mode: z.enum(MODES),
  /** Of the payment, return or refund; null if the item is about none. */
  amount: cents.nullable(),
  /** Whether the amount is in `unmatched` of the operator. */
  is_held: z.boolean(),
  is_giving_back: z.boolean(),
  created_at: instant,
  resolved_at: instant.nullable(),
  /** An entry, or what a job found. */
  resolution: z.string().nullable(),
})
export type DifferenceLine = z.infer<typeof DifferenceLine>

/** What is open, of all kinds; amounts are those unmatched. */
export const DifferenceSummary = z.object({
  count: z.int(),
  oldest_at: instant.nullable(),
  amount: z.object({ test: cents, live: cents }),
})
export type DifferenceSummary = z.infer<typeof DifferenceSummary>

export const DifferencePage = z.intersection(
  pageOf(DifferenceLine),
  z.object({ open: DifferenceSummary }),
)

const SideCharge = z.object({
  id: z.uuid(),
  account: party,
  status: z.enum(CHARGE_STATUSES),
  amount: cents,
  refunded_amount: cents,
  created_at: instant,
  paid_at: instant.nullable(),
  cancelled_at: instant.nullable(),
  /** The masked document. */
  payer: z.string(),
  end_to_end_id: z.string().nullable(),
})
export type SideCharge = z.infer<typeof SideCharge>

const Candidate = SideCharge.pick({
  id: true,
  account: true,
  status: true,
  amount: true,
  created_at: true,
  payer: true,
}).extend({
  /** Whether its payer has the document of the charge that the payment named. */
  is_same_payer: z.boolean(),
})
export type Candidate = z.infer<typeof Candidate>

export const SideReturn = z.object({
  id: z.uuid(),
  status: z.enum(['pending', 'completed', 'rejected']),
  attempts: z.int(),
  created_at: instant,
  return_id: z.string().nullable(),
  rejection_reason: z.string().nullable(),
  bank_text: z.string().nullable(),
})

export const WHYS = [
  'nothing_held',
  'other_amount',
  'paid_twice',
  'nobody',
  'one_candidate',
  'own_payout',
  'above_payout',
  'bank_refused',
  'too_late',
] as const

export const Suggestion = z.object({
  entry: z.enum(ENTRIES),
  why: z.enum(WHYS),
  account_id: z.uuid().nullable(),
  transaction_id: z.uuid().nullable(),
})
export type Suggestion = z.infer<typeof Suggestion>

const fact = z.union([z.string(), z.number(), z.boolean(), z.null()])
export const DifferenceEvidence = z.object({
  /** What the bank reported. */
  bank: z.record(z.string(), fact),
  /** What Troco's rows said when the item was noted. */
  noted: z.record(z.string(), fact),
  account: party.nullable(),
  charge: SideCharge.nullable(),
  withdrawal: z
    .object({
      id: z.uuid(),
      status: z.string(),
      amount: cents,
      returned_amount: cents,
      created_at: instant,
    })
    .nullable(),
  deliveries: z.array(
    z.object({ type: z.string(), host: z.string(), status: z.string(), created_at: instant }),
  ),
  returns: z.array(SideReturn),
  candidates: z.array(Candidate),
})
export type DifferenceEvidence = z.infer<typeof DifferenceEvidence>

const CorrectionParty = z.object({ id: z.string(), name: z.string().nullable() })
export type CorrectionParty = z.infer<typeof CorrectionParty>

export const Correction = z.object({
  id: z.uuid(),
  from: CorrectionParty,
  to: CorrectionParty,
  amount: cents,
  reason: z.string(),
  /** Null people are the command line. */
  proposed_by: z.string().nullable(),
  approved_by: z.string().nullable(),
  booked_at: instant.nullable(),
  /** Null: it is booked. */
  expires_at: instant.nullable(),
  can_approve: z.boolean(),
})
export type Correction = z.infer<typeof Correction>

export const DifferenceDetail = DifferenceLine.extend({
  key: z.string(),
  reason: z.string().nullable(),
  /** Null for the command line, and for a job. */
  resolved_by: z.string().nullable(),
  evidence: DifferenceEvidence,
  entries: z.array(z.enum(ENTRIES)),
  suggestion: Suggestion,
  /** What an entry must be that settles the item; null: none can. */
  correction_terms: z
    .object({
      from: z.string().nullable(),
      to: z.string().nullable(),
      amount: cents.nullable(),
      isWithBank: z.boolean(),
    })
    .nullable(),
  corrections: z.array(Correction),
})
export type DifferenceDetail = z.infer<typeof DifferenceDetail>
export const DifferenceDetailRead = z.object({ data: DifferenceDetail })
