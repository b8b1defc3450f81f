/** Why an endpoint is disabled, with the English sentence for programs. */
export const DISABLED = {
  by_member: 'Disabled in the dashboard',
  gone: 'The receiver answered 410 Gone',
  given_up: 'No success for 5 days, and 10 events given up',
} as const
export type DisabledCode = keyof typeof DISABLED

/** `other`: the sentence of an older process, which is shown as it is. */
export const DISABLED_CODES = [...(Object.keys(DISABLED) as DisabledCode[]), 'other'] as const

/** Returns the fields of an endpoint that is disabled now. */
export function disabledNow(code: DisabledCode) {
  return { disabledAt: new Date(), disabledCode: code, disabledReason: DISABLED[code] }
}
