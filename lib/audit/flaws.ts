import * as z from 'zod'
import { formatReason, type ReasonOf, reasonParams } from '#lib/core/reason.ts'

/**
 * What a check of the audit log finds, in the words of the log and of `doctor`. The health page has
 * its own, in `health.flaw` of the messages.
 */
export const FLAWS = {
  link_removed: 'the link before that of record {record} was removed',
  record_removed: 'record {record} was removed',
  record_changed: 'record {record} was changed',
  field_changed: 'record {record} was changed: {field}',
  link_changed: 'the link of record {record} was changed',
  record_unlinked: 'record {record} has no link',
  end_removed: 'the end of chain {chain} was removed',
  end_cut: 'the last records of chain {chain} were removed',
  end_changed: 'the end of chain {chain} was changed',
  links_missing: '{linked} records were linked, and {left} links are left',
  total_changed: 'the number of linked records was changed',
  result_changed: 'the result of the check of chain {chain} was changed',
  result_unreadable: 'the result of the check of chain {chain} is not readable',
} as const

export type AuditFlaw = ReasonOf<typeof FLAWS>
export type FlawCode = AuditFlaw['code']
export const FLAW_CODES = Object.keys(FLAWS) as FlawCode[]

export function describeFlaw(flaw: AuditFlaw): string {
  return formatReason(FLAWS, flaw)
}

export const auditFlaw = z.object({ code: z.enum(FLAW_CODES), params: reasonParams })

/** Text of a flaw in `audit_chains.wrong`, which the result's signature covers. */
export function encodeFlaw({ code, params }: AuditFlaw): string {
  return JSON.stringify({ code, params })
}

/** Reads a stored flaw. Earlier releases stored a sentence, until the next daily check. */
export function decodeFlaw(text: string, chain: string): AuditFlaw {
  try {
    return auditFlaw.parse(JSON.parse(text)) as AuditFlaw
  } catch {
    return { code: 'result_unreadable', params: { chain } }
  }
}
