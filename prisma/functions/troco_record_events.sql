-- version 2
-- Numbers the events of `bookings` without a gap, stores them and makes their deliveries, due at once; those of a
-- disabled endpoint have no due time. A rollback returns the numbers. The rows of sequences are locked by account and
-- mode, after all other rows that a movement changes.
-- Kept for troco_book, with whose settings and rights it runs: nested loops keep the order of the locks.
CREATE OR REPLACE FUNCTION troco_record_events(event_type text, bookings troco_booking[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  recorded integer;
BEGIN
  WITH numbered AS (
    UPDATE public.event_sequences s SET last = s.last + t.events
    FROM (
      SELECT b.account_id, b.mode, count(*) AS events FROM unnest(bookings) b
      GROUP BY b.account_id, b.mode ORDER BY b.account_id, b.mode) t
    WHERE s.account_id = t.account_id AND s.mode = t.mode
      AND s.account_id = ANY (ARRAY(SELECT b.account_id FROM unnest(bookings) b))
    RETURNING s.account_id, s.mode, s.last - t.events AS last_before
  ), sequenced AS (
    SELECT b.*, n.last_before
      + row_number() OVER (PARTITION BY b.account_id, b.mode ORDER BY b.subject_id) AS sequence
    FROM unnest(bookings) b JOIN numbered n ON n.account_id = b.account_id AND n.mode = b.mode
  ), stored AS (
    INSERT INTO public.events (account_id, id, mode, sequence, type, subject_id, resource, trace, created_at)
    SELECT r.account_id, r.event_id, r.mode, r.sequence, event_type, r.subject_id, r.resource, r.trace,
      clock_timestamp() FROM sequenced r
    RETURNING id
  ), enqueued AS (
    INSERT INTO public.deliveries (account_id, id, mode, event_id, subject_id, sequence, endpoint_id,
      url, host, status, due_at)
    SELECT r.account_id, r.event_id, r.mode, r.event_id, r.subject_id, r.sequence, NULL,
      r.webhook_url, r.webhook_host, 'pending', now()
    FROM sequenced r WHERE r.webhook_url IS NOT NULL
    UNION ALL
    SELECT r.account_id, md5(r.event_id::text || p.id::text)::uuid, r.mode, r.event_id, r.subject_id,
      r.sequence, p.id, p.url, p.host, 'pending',
      CASE WHEN p.disabled_at IS NULL THEN now() END
    FROM sequenced r CROSS JOIN LATERAL (
      SELECT w.id, w.url, w.host, w.disabled_at FROM public.webhook_endpoints w
      WHERE w.account_id = r.account_id AND w.mode = r.mode AND w.deleted_at IS NULL
        AND event_type = ANY (w.event_types) OFFSET 0) p
  )
  SELECT count(*) INTO recorded FROM stored;
  IF recorded <> cardinality(bookings) THEN
    RAISE EXCEPTION '% of % events of type % were recorded', recorded, cardinality(bookings), event_type
      USING ERRCODE = 'check_violation', CONSTRAINT = 'events_complete';
  END IF;
END $$;
