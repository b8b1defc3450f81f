import type { DeliveriesQuery } from '#lib/webhooks/schema.ts'
import { RESEND_DAYS_MAX } from '#lib/webhooks/states.ts'

const DAY_MS = 86_400_000
/** Margin below the maximum age, so that a page open for an hour still sends a valid request. */
const LEEWAY_MS = 3_600_000

export type ResendFilter = Pick<DeliveriesQuery, 'type' | 'endpoint_id' | 'reference'> & {
  from: string
  to?: string
  status: 'exhausted' | 'stopped'
}

/** Returns the filter of the failed deliveries that can still be resent; null if none can be. */
export function resendFilterOf(query: DeliveriesQuery, now = Date.now()): ResendFilter | null {
  const { type, endpoint_id, reference, status = 'exhausted', created_from, created_to: to } = query
  if (status !== 'exhausted' && status !== 'stopped') return null
  const end = Math.min(to ? Date.parse(to) : now, now)
  const earliest = end - RESEND_DAYS_MAX * DAY_MS + LEEWAY_MS
  const from = Math.max(created_from ? Date.parse(created_from) : 0, earliest)
  if (from >= end) return null
  const period = {
    from: new Date(from).toISOString(),
    ...(to && Date.parse(to) < now ? { to } : {}),
  }
  const filters = { type, endpoint_id, reference }
  const presentFilters = Object.fromEntries(
    Object.entries(filters).filter(([, value]) => value !== undefined),
  )
  return { ...presentFilters, ...period, status }
}
