-- version 1
-- Deletes events as the owner, because the application may only add them (docs/decisions/026).
-- Refuses all of them if one is younger than the retention. Called in lib/worker/prune.ts.
CREATE OR REPLACE FUNCTION troco_prune_events(account_ids uuid[], event_ids uuid[]) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  pruned integer;
BEGIN
  IF EXISTS (
    SELECT FROM public.events e JOIN unnest(account_ids, event_ids) AS o (account_id, id)
      ON o.account_id = e.account_id AND o.id = e.id
    WHERE e.created_at >= now() - interval '90 days') THEN
    RAISE EXCEPTION 'events younger than 90 days are not deleted'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'events_retention';
  END IF;
  DELETE FROM public.events e USING unnest(account_ids, event_ids) AS o (account_id, id)
  WHERE o.account_id = e.account_id AND o.id = e.id;
  GET DIAGNOSTICS pruned = ROW_COUNT;
  RETURN pruned;
END $$;
