import { Prisma } from '#lib/base/db/client.ts'
import { type EventType, goesToResource } from '#lib/services/webhooks/states.ts'

/** Columns of `source`; `resource` is the subject's current row as JSON, `trace` a `currentCause()`. */
export type EventColumn =
  | 'account_id'
  | 'mode'
  | 'event_id'
  | 'subject_id'
  | 'webhook_url'
  | 'webhook_host'
  | 'resource'
  | 'trace'

interface EventOptions {
  /** CTE that must take its locks first: the sequence row is always locked last. */
  after?: 'ledger_moved'
}

/**
 * Records the events of `source` and enqueues their deliveries in one statement. Sequences have no
 * gap: a rollback returns the numbers. Deliveries to a disabled endpoint get no due time. A row of an
 * older process has no host: prisma/functions/troco_host_of.sql. The trigger
 * prisma/functions/troco_touch_lanes.sql makes the lanes of the deliveries due.
 */
export function eventCtes(type: EventType, source: string, options: EventOptions = {}): Prisma.Sql {
  const from = Prisma.raw(source)
  // count(*) takes every lock of the CTE first. EXISTS would take some after the sequence row's.
  const condition = options.after
    ? Prisma.sql`WHERE (SELECT count(*) FROM ${Prisma.raw(options.after)}) > 0`
    : Prisma.empty
  return Prisma.sql`
    event_totals AS (
      SELECT account_id, mode, count(*) AS events FROM ${from} GROUP BY account_id, mode
    ), event_locked AS (
      SELECT s.account_id, s.mode, t.events
      FROM event_sequences s JOIN event_totals t USING (account_id, mode)
      ${condition}
      ORDER BY s.account_id, s.mode
      FOR UPDATE OF s
    ), event_numbered AS (
      UPDATE event_sequences s SET last = s.last + k.events
      FROM event_locked k WHERE s.account_id = k.account_id AND s.mode = k.mode
      RETURNING s.account_id, s.mode, s.last - k.events AS last_before
    ), event_rows AS (
      SELECT f.account_id, f.mode, f.event_id, f.subject_id, f.webhook_url, f.webhook_host,
        f.resource, f.trace,
        q.last_before + row_number() OVER (PARTITION BY f.account_id, f.mode ORDER BY f.subject_id) AS sequence
      FROM ${from} f JOIN event_numbered q USING (account_id, mode)
    ), event_recorded AS (
      INSERT INTO events (account_id, id, mode, sequence, type, subject_id, resource, trace, created_at)
      SELECT account_id, event_id, mode, sequence, ${type}, subject_id, resource, trace, clock_timestamp()
      FROM event_rows
    ), delivery_enqueued AS (
      INSERT INTO deliveries (account_id, id, mode, event_id, subject_id, sequence, endpoint_id,
        url, host, status, due_at)
      ${goesToResource(type) ? resourceDeliveries : Prisma.empty}
      SELECT r.account_id, md5(r.event_id::text || p.id::text)::uuid, r.mode, r.event_id,
        r.subject_id, r.sequence, p.id, p.url,
        COALESCE(p.host, troco_host_of(p.url)), 'pending',
        CASE WHEN p.disabled_at IS NULL THEN now() END
      FROM event_rows r JOIN webhook_endpoints p USING (account_id, mode)
      WHERE p.deleted_at IS NULL AND ${type} = ANY (p.event_types)
    )`
}

const resourceDeliveries = Prisma.sql`
      SELECT account_id, event_id, mode, event_id, subject_id, sequence, NULL::uuid,
        webhook_url, COALESCE(webhook_host, troco_host_of(webhook_url)), 'pending', now()
      FROM event_rows WHERE webhook_url IS NOT NULL
      UNION ALL`
