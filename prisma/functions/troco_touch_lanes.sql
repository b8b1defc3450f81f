-- version 4
-- Trigger of deliveries, after each INSERT and UPDATE: makes lanes and accounts due that got work or a
-- free place. Rows that are due already are only locked, FOR KEY SHARE: a claim postpones or deletes a
-- row only under FOR UPDATE, so it waits for this commit or this statement sees its result. Rows are
-- locked by account and host, lanes before accounts, so that two statements cannot deadlock. No
-- statistics can choose to read more lanes or accounts than these, see troco_claim_deliveries.
CREATE OR REPLACE FUNCTION troco_touch_lanes() RETURNS trigger LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_sort = off
SET enable_bitmapscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  accounts uuid[]; hosts text[]; dues timestamptz[]; frees boolean[];
  ready integer; ready_accounts uuid[];
BEGIN
  IF TG_OP = 'INSERT' THEN
    SELECT array_agg(t.account_id), array_agg(t.host), array_agg(t.due_at), array_agg(false)
    INTO accounts, hosts, dues, frees FROM (
      SELECT n.account_id, n.host, min(n.due_at) AS due_at FROM new_rows n
      WHERE n.due_at IS NOT NULL GROUP BY n.account_id, n.host ORDER BY n.account_id, n.host) t;
  ELSE
    SELECT array_agg(t.account_id), array_agg(t.host), array_agg(t.due_at), array_agg(t.frees)
    INTO accounts, hosts, dues, frees FROM (
      SELECT c.account_id, c.host, min(c.due_at) FILTER (WHERE c.is_earlier) AS due_at,
        bool_or(c.frees) AS frees
      FROM (
        SELECT u.account_id, u.host, u.due_at, u.frees, u.due_at IS NOT NULL
          AND (u.old_due_at IS NULL OR u.due_at < u.old_due_at OR u.host <> u.old_host) AS is_earlier
        FROM (
          -- Instead of a join, which would be planned for a few rows and compare each with each.
          SELECT r.account_id, r.id,
            max(r.host) FILTER (WHERE r.is_new) AS host,
            max(r.host) FILTER (WHERE NOT r.is_new) AS old_host,
            max(r.due_at) FILTER (WHERE r.is_new) AS due_at,
            max(r.due_at) FILTER (WHERE NOT r.is_new) AS old_due_at,
            count(r.lease) FILTER (WHERE r.is_new) < count(r.lease) FILTER (WHERE NOT r.is_new) AS frees
          FROM (SELECT n.account_id, n.id, n.host, n.due_at, n.lease, true AS is_new FROM new_rows n
            UNION ALL
            SELECT o.account_id, o.id, o.host, o.due_at, o.lease, false FROM old_rows o) r
          GROUP BY r.account_id, r.id) u) c
      WHERE c.is_earlier OR c.frees
      GROUP BY c.account_id, c.host ORDER BY c.account_id, c.host) t;
  END IF;
  IF accounts IS NULL THEN RETURN NULL; END IF;

  SELECT count(*) INTO ready FROM (
    SELECT t.due_at, t.frees, greatest(t.next_at, a.next_at) AS next_at, t.is_full OR a.is_full AS is_full
    FROM (
      SELECT t.*, l.* FROM unnest(accounts, hosts, dues, frees) AS t (account_id, host, due_at, frees)
      CROSS JOIN LATERAL (
        SELECT l.due_at AS next_at, l.is_full FROM public.delivery_lanes l
        WHERE l.account_id = t.account_id AND l.host >= t.host AND l.host <= t.host
        ORDER BY l.host FOR KEY SHARE) l
      ORDER BY t.account_id, t.host) t
    CROSS JOIN LATERAL (
      SELECT a.due_at AS next_at, a.is_full FROM public.delivery_accounts a
      WHERE a.account_id >= t.account_id AND a.account_id <= t.account_id
      ORDER BY a.account_id FOR KEY SHARE) a) k
  WHERE (k.due_at IS NULL OR k.next_at <= greatest(k.due_at, clock_timestamp()))
    AND NOT (k.frees AND k.is_full);
  IF ready = cardinality(accounts) THEN RETURN NULL; END IF;

  INSERT INTO public.delivery_lanes AS l (account_id, host, due_at)
  SELECT t.account_id, t.host, CASE WHEN t.frees AND p.is_full THEN clock_timestamp()
    ELSE greatest(t.due_at, clock_timestamp()) END
  FROM unnest(accounts, hosts, dues, frees) AS t (account_id, host, due_at, frees)
  LEFT JOIN LATERAL (
    SELECT p.is_full FROM public.delivery_lanes p
    WHERE p.account_id = t.account_id AND p.host >= t.host AND p.host <= t.host
    ORDER BY p.host) p ON true
  WHERE t.due_at IS NOT NULL OR t.frees AND p.is_full
  ORDER BY t.account_id, t.host
  ON CONFLICT (account_id, host) DO UPDATE SET due_at = EXCLUDED.due_at, is_full = false
  WHERE l.due_at > EXCLUDED.due_at;

  SELECT array_agg(k.account_id) INTO ready_accounts FROM (
    SELECT a.account_id, a.due_at FROM public.delivery_accounts a
    WHERE a.account_id = ANY (accounts) ORDER BY a.account_id FOR KEY SHARE) k
  WHERE k.due_at <= clock_timestamp();
  INSERT INTO public.delivery_accounts AS a (account_id, due_at)
  SELECT t.account_id, min(CASE WHEN t.frees THEN clock_timestamp()
    ELSE greatest(t.due_at, clock_timestamp()) END)
  FROM unnest(accounts, dues, frees) AS t (account_id, due_at, frees)
  WHERE t.account_id <> ALL (COALESCE(ready_accounts, '{}'))
  GROUP BY t.account_id ORDER BY t.account_id
  ON CONFLICT (account_id) DO UPDATE SET due_at = EXCLUDED.due_at, is_full = false
  WHERE a.due_at > EXCLUDED.due_at;
  RETURN NULL;
END $$;
