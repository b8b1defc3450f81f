-- version 1
-- Gives the event feeds of an account, or of all if it is null, another epoch. Its numbers begin after the next
-- multiple of 2^32. Returns the number of feeds. Called by lib/webhooks/events.ts.
CREATE OR REPLACE FUNCTION troco_renew_feeds(of_account uuid) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  renewed integer;
BEGIN
  INSERT INTO public.event_sequences (account_id, mode)
  SELECT a.id, m.mode FROM public.accounts a CROSS JOIN (VALUES ('test'), ('live')) AS m (mode)
  WHERE of_account IS NULL OR a.id = of_account ON CONFLICT DO NOTHING;
  WITH locked AS MATERIALIZED (
    SELECT s.account_id, s.mode, s.last, COALESCE(s.epoch, left(md5(s.account_id || s.mode), 16)) AS epoch,
      (s.last / 4294967296 + 1) * 4294967296 AS next
    FROM public.event_sequences s WHERE of_account IS NULL OR s.account_id = of_account
    ORDER BY s.account_id, s.mode FOR NO KEY UPDATE
  ), ended AS (
    INSERT INTO public.feed_epochs (account_id, mode, epoch, kept, next)
    SELECT l.account_id, l.mode, l.epoch, l.last, l.next FROM locked l
  )
  UPDATE public.event_sequences s SET last = l.next, epoch = left(md5(gen_random_uuid()::text), 16)
  FROM locked l WHERE s.account_id = l.account_id AND s.mode = l.mode;
  GET DIAGNOSTICS renewed = ROW_COUNT;
  RETURN renewed;
END $$;
