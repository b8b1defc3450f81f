-- version 1
-- Ends the lease of queues of which their worker has read and sent everything, for lib/webhooks/queue.ts: a queue
-- becomes due with its first pending delivery, or is deleted. One that got work since it was read, or that a statement
-- which adds work has locked, stays held. The second statement sees what was committed before the lock.
-- Returns the released accounts, each with whether its queue is due.
CREATE OR REPLACE FUNCTION troco_release_queues(with_lease uuid, accounts uuid[])
RETURNS TABLE (account_id uuid, is_due boolean) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_sort = off SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan SET jit = off AS $$
#variable_conflict use_column
DECLARE
  held uuid[];
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  SELECT array_agg(k.account_id) INTO held FROM (
    SELECT q.account_id FROM unnest(accounts) AS t (id) CROSS JOIN LATERAL (
      SELECT q.account_id FROM delivery_queues q
      WHERE q.account_id = t.id AND q.lease = with_lease AND NOT q.has_news
      FOR UPDATE SKIP LOCKED) q) k;
  RETURN QUERY
  WITH state AS MATERIALIZED (
    SELECT t.id, n.due_at FROM unnest(held) AS t (id) LEFT JOIN LATERAL (
      SELECT d.due_at FROM deliveries d WHERE d.account_id = t.id AND d.due_at IS NOT NULL
      ORDER BY d.due_at, d.sequence LIMIT 1) n ON true
  ), deleted AS (
    DELETE FROM delivery_queues q USING state s WHERE q.account_id = s.id AND s.due_at IS NULL
  ), released AS (
    UPDATE delivery_queues q SET lease = NULL, due_at = s.due_at
    FROM state s WHERE q.account_id = s.id AND s.due_at IS NOT NULL
  )
  SELECT s.id, s.due_at IS NOT NULL AND s.due_at <= clock_timestamp() FROM state s;
END $$;
