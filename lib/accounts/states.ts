import type { AccountStatus } from '#lib/accounts/schema.ts'

/** Maximum accounts that one request activates or suspends: four pages of the list. */
export const STATUS_CHANGES_MAX = 100

/** unchanged: the account had the status before. */
export const STATUS_OUTCOMES = ['changed', 'unchanged', 'not_found'] as const
export type StatusOutcome = (typeof STATUS_OUTCOMES)[number]

export interface StatusChange {
  account_ids: string[]
  status: Exclude<AccountStatus, 'pending'>
  reason: string
}

export interface ChangedStatus {
  account_id: string
  outcome: StatusOutcome
}
