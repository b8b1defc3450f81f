-- version 1
-- Trigger of deliveries: makes the queues of accounts due whose deliveries are inserted or become due earlier, and
-- marks those that a worker holds. A row that says so already is only locked, FOR KEY SHARE: a worker gives a queue
-- up only under FOR UPDATE and after a new look (troco_release_queues), so it waits for this commit. Rows are locked
-- by account, so that two statements cannot deadlock.
CREATE OR REPLACE FUNCTION troco_touch_queues() RETURNS trigger LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan SET jit = off AS $$
DECLARE
  accounts uuid[]; dues timestamptz[]; ready integer;
BEGIN
  IF TG_OP = 'INSERT' THEN
    SELECT array_agg(t.account_id), array_agg(t.due_at) INTO accounts, dues FROM (
      SELECT n.account_id, min(n.due_at) AS due_at FROM new_rows n
      WHERE n.due_at IS NOT NULL GROUP BY n.account_id ORDER BY n.account_id) t;
  ELSE
    SELECT array_agg(t.account_id), array_agg(t.due_at) INTO accounts, dues FROM (
      SELECT u.account_id, min(u.due_at) AS due_at FROM (
        -- Instead of a join, which would be planned for a few rows and compare each with each.
        SELECT r.account_id, max(r.due_at) FILTER (WHERE r.is_new) AS due_at,
          max(r.due_at) FILTER (WHERE NOT r.is_new) AS old_due_at
        FROM (SELECT n.account_id, n.id, n.due_at, true AS is_new FROM new_rows n
          UNION ALL SELECT o.account_id, o.id, o.due_at, false FROM old_rows o) r
        GROUP BY r.account_id, r.id) u
      WHERE u.due_at IS NOT NULL AND (u.old_due_at IS NULL OR u.due_at < u.old_due_at)
      GROUP BY u.account_id ORDER BY u.account_id) t;
  END IF;
  IF accounts IS NULL THEN RETURN NULL; END IF;

  SELECT count(*) INTO ready FROM (
    SELECT t.due_at, q.lease, q.has_news, q.due_at AS next_at
    FROM unnest(accounts, dues) AS t (account_id, due_at) CROSS JOIN LATERAL (
      SELECT q.lease, q.has_news, q.due_at FROM public.delivery_queues q
      WHERE q.account_id = t.account_id FOR KEY SHARE) q) k
  WHERE CASE WHEN k.lease IS NULL THEN k.next_at <= greatest(k.due_at, clock_timestamp()) ELSE k.has_news END;
  IF ready = cardinality(accounts) THEN RETURN NULL; END IF;

  INSERT INTO public.delivery_queues AS q (account_id, due_at)
  SELECT t.account_id, greatest(t.due_at, clock_timestamp())
  FROM unnest(accounts, dues) AS t (account_id, due_at) ORDER BY t.account_id
  ON CONFLICT (account_id) DO UPDATE SET has_news = q.lease IS NOT NULL,
    due_at = CASE WHEN q.lease IS NULL THEN EXCLUDED.due_at ELSE q.due_at END
  WHERE CASE WHEN q.lease IS NULL THEN q.due_at > EXCLUDED.due_at ELSE NOT q.has_news END;
  RETURN NULL;
END $$;
