/**
 * ok: works. warning: live mode works without it. problem: the operator must act before live mode works.
 * unanswered: the bank gave no answer.
 */
export type FindingLevel = 'ok' | 'warning' | 'problem' | 'unanswered'

/** What a check of a connection can find: its level and, of a problem, what it blocks. */
export const FINDINGS = {
  certificate_valid: { level: 'ok' },
  certificate_expires_soon: { level: 'warning' },
  certificate_expired: { level: 'problem', block: 'certificate' },
  certificate_not_yet_valid: { level: 'problem', block: 'certificate' },
  certificate_refused: { level: 'problem', block: 'certificate' },
  certificate_dropped: { level: 'unanswered' },
  server_trusted: { level: 'ok' },
  server_untrusted: { level: 'problem', block: 'certificate' },
  server_private: { level: 'problem', block: 'other' },
  server_unreachable: { level: 'unanswered' },
  token_issued: { level: 'ok' },
  token_refused: { level: 'problem', block: 'credentials' },
  token_unanswered: { level: 'unanswered' },
  clock_agrees: { level: 'ok' },
  clock_differs: { level: 'warning' },
  scope_used: { level: 'ok' },
  scope_missing: { level: 'problem', block: 'scope' },
  scope_missing_for_notices: { level: 'warning' },
  scope_missing_for_disputes: { level: 'warning' },
  scope_missing_for_statements: { level: 'warning' },
  scope_unproven: { level: 'warning' },
  scope_unanswered: { level: 'unanswered' },
  payments_listed: { level: 'ok' },
  payments_refused: { level: 'problem', block: 'other' },
  payments_unanswered: { level: 'unanswered' },
  balance_read: { level: 'ok' },
  balance_refused: { level: 'problem', block: 'other' },
  balance_unanswered: { level: 'unanswered' },
  settings_open: { level: 'warning' },
  payer_notices_missing: { level: 'problem', block: 'key' },
  notices_ours: { level: 'ok' },
  notices_outdated: { level: 'warning' },
  notices_missing: { level: 'warning' },
  notices_foreign: { level: 'warning' },
  bank_answers: { level: 'ok' },
  bank_refuses: { level: 'problem', block: 'other' },
  bank_silent: { level: 'unanswered' },
} as const satisfies Record<string, { level: FindingLevel; block?: string }>

export type FindingCode = keyof typeof FINDINGS
export type FindingParams = Readonly<Record<string, string | number>>

/** `params` contain no secret: the edge puts them into its sentences. */
export interface BankFinding {
  code: FindingCode
  params: FindingParams
}

export function find(code: FindingCode, params: FindingParams = {}): BankFinding {
  return { code, params }
}

export function levelOf({ code }: BankFinding): FindingLevel {
  return FINDINGS[code].level
}
