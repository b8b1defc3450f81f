-- version 1
-- Stores that webhooks of these accounts and modes were delivered, in the order in which events are numbered.
-- Called by lib/webhooks/endpoints.ts and lib/worker/prune.ts.
CREATE OR REPLACE FUNCTION troco_note_delivered(account_ids uuid[], modes text[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  WITH first AS (
    SELECT s.account_id, s.mode FROM public.event_sequences s
    WHERE s.first_delivered_at IS NULL
      AND (s.account_id, s.mode) IN (SELECT t.* FROM unnest(account_ids, modes) AS t)
    ORDER BY s.account_id, s.mode FOR NO KEY UPDATE
  )
  UPDATE public.event_sequences s SET first_delivered_at = now() FROM first f
  WHERE s.account_id = f.account_id AND s.mode = f.mode;
$$;
