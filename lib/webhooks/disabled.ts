/** Reasons for disabling an endpoint, with the English message for API clients. */
export const DISABLED_REASONS = {
  by_member: 'Disabled in the dashboard',
  by_token: 'Disabled with an API token',
  gone: 'The receiver answered 410 Gone',
  given_up: 'No success for 5 days, and 10 events given up',
} as const
export type DisabledCode = keyof typeof DISABLED_REASONS
export const DISABLED_CODES = Object.keys(DISABLED_REASONS) as DisabledCode[]

export function disabledFields(code: DisabledCode) {
  return { disabledAt: new Date(), disabledCode: code }
}
