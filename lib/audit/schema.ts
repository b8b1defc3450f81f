import * as z from 'zod'
import { matchActions } from '#lib/audit/actions.ts'
import { instant, listQuery, must, pageOf } from '#lib/core/fields.ts'
import { isUuid } from '#lib/core/ids.ts'

const { cursor, limit, created_from, created_to } = listQuery([]).shape
const shortText = z.string().max(255, must('have at most 255 characters')).optional()
const ACTION_RULE = 'be an action such as token.revoked, or a group such as token.*'

export const auditFilters = z.object({
  action: z
    .string()
    .refine(value => matchActions(value) !== null, must(ACTION_RULE))
    .optional(),
  /** A user's id or e-mail, or `system` or `command_line`. */
  actor: shortText,
  target: shortText,
  /** A request id or an IP address, matched exactly. */
  q: shortText,
  created_from,
  created_to,
})
export type AuditFilters = z.infer<typeof auditFilters>

export const staffAuditFilters = auditFilters.extend({
  account: z.string().refine(isUuid, must('be an account id')).optional(),
})
export type StaffAuditFilters = z.infer<typeof staffAuditFilters>

export const auditQuery = auditFilters.extend({ cursor, limit })
export const staffAuditQuery = staffAuditFilters.extend({ cursor, limit })

const auditValue = z.union([z.string(), z.number(), z.boolean(), z.array(z.string()), z.null()])
const auditValues = z.record(z.string(), auditValue)
export type AuditValues = z.infer<typeof auditValues>

/** An audited action in a list. Values that are hidden from the reader are null. */
export const AuditLine = z.object({
  id: z.uuid(),
  created_at: instant,
  action: z.string(),
  actor: z.object({
    /** `operator`: staff as merchants see them, with id, name and e-mail null. */
    kind: z.enum(['person', 'token', 'operator', 'command_line', 'system']),
    id: z.uuid().nullable(),
    name: z.string().nullable(),
    email: z.string().nullable(),
  }),
  account: z.object({ id: z.uuid(), name: z.string() }).nullable(),
  target: z.string().nullable(),
  reason: z.string().nullable(),
  before: auditValues.nullable(),
  after: auditValues.nullable(),
  ip: z.string().nullable(),
  request_id: z.string().nullable(),
})
export type AuditLine = z.infer<typeof AuditLine>

export const AuditPage = pageOf(AuditLine)
