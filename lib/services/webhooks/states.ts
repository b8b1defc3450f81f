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
 * pending: waiting for its due time, or being sent. paused: its endpoint is disabled. exhausted:
 * all attempts failed. stopped: will not be sent.
 */
export const DELIVERY_STATUSES = ['pending', 'paused', 'delivered', 'exhausted', 'stopped'] as const
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

export const EVENT_GROUPS = ['transaction.*', 'withdrawal.*'] as const
export const EVENT_TYPE_FILTERS = [...EVENT_TYPES, ...EVENT_GROUPS] as const
export type EventTypeFilter = (typeof EVENT_TYPE_FILTERS)[number]

export function matchEventTypes(filter: EventTypeFilter): EventType[] {
  return EVENT_TYPES.filter(type => type === filter || type.split('.')[0] === filter.slice(0, -2))
}

/** Endpoint filter value for deliveries to the `webhook_url` of a transaction or withdrawal. */
export const NO_ENDPOINT = 'none'

export const RESEND_DAYS_MAX = 14
