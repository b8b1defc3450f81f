/**
 * All event types. Those that the specification names also go to the `webhook_url` of their resource;
 * the others go only to endpoints that chose them, and to GET /events.
 */
const TYPES = {
  'transaction.paid': { isInSpecification: true },
  'transaction.expired': { isInSpecification: true },
  'transaction.failed': { isInSpecification: true },
  'transaction.refunded': { isInSpecification: false },
  'transaction.refund_failed': { isInSpecification: false },
  'transaction.dispute_opened': { isInSpecification: false },
  'transaction.dispute_closed': { isInSpecification: false },
  'transaction.returned': { isInSpecification: false },
  'transaction.amount_mismatch': { isInSpecification: false },
  'withdrawal.approved': { isInSpecification: true },
  'withdrawal.rejected': { isInSpecification: true },
  'withdrawal.returned': { isInSpecification: false },
} as const
export type EventType = keyof typeof TYPES
export const EVENT_TYPES = Object.keys(TYPES) as [EventType, ...EventType[]]

/** Type of the test event that says nothing about a payment: the only one in live mode. */
export const PING = 'troco.ping'
export const TEST_EVENT_TYPES = [...EVENT_TYPES, PING] as const
export type TestEventType = (typeof TEST_EVENT_TYPES)[number]

export function goesToResource(type: EventType): boolean {
  return TYPES[type].isInSpecification
}

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

/** What a receiver must refuse with 4xx, whatever it contains. */
const REFUSED_CHECKS = ['wrong_signature', 'changed_body', 'old_timestamp'] as const
/** Ways in which a sample event tries a receiver, in the order of a check. All but the first three must be accepted. */
export const RECEIVER_CHECKS = [
  ...REFUSED_CHECKS,
  'genuine',
  'duplicate',
  'out_of_order',
  'unknown_type',
  'large',
  'fast',
] as const
export type ReceiverCheck = (typeof RECEIVER_CHECKS)[number]

export function mustRefuse(check: ReceiverCheck): boolean {
  return (REFUSED_CHECKS as readonly ReceiverCheck[]).includes(check)
}

/** What a member can let the next webhooks of the test mode meet: lib/webhooks/sandbox.ts. */
export const WEBHOOK_FAULTS = ['unavailable', 'timeout', 'duplicate'] as const
export type WebhookFault = (typeof WEBHOOK_FAULTS)[number]

export const RESEND_DAYS_MAX = 14
