export const EVENT_TYPES = [
  'transaction.paid',
  'transaction.expired',
  'transaction.failed',
  'transaction.refunded',
  'transaction.refund_failed',
  'withdrawal.approved',
  'withdrawal.rejected',
] as const
export type EventType = (typeof EVENT_TYPES)[number]

/**
 * pending: due at its time, or a call is under way. paused: waits until its endpoint is enabled.
 * delivered: the receiver has it. exhausted: all tries failed. stopped: nobody wants it any more.
 */
export const DELIVERY_STATUSES = ['pending', 'paused', 'delivered', 'exhausted', 'stopped'] as const
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** All events of transactions, or of withdrawals. */
export const EVENT_GROUPS = ['transaction.*', 'withdrawal.*'] as const
export const WANTED_TYPES = [...EVENT_TYPES, ...EVENT_GROUPS] as const
export type WantedType = (typeof WANTED_TYPES)[number]

/** The types that a filter means. */
export function typesOf(wanted: WantedType): EventType[] {
  return EVENT_TYPES.filter(type => type === wanted || type.split('.')[0] === wanted.slice(0, -2))
}

/** In place of an endpoint's id: what goes to the `webhook_url` of a transaction or withdrawal. */
export const NO_ENDPOINT = 'none'

export const RESEND_DAYS_MAX = 14
