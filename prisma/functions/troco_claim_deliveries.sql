-- version 4
-- Claims due deliveries for lib/webhooks/deliveries.ts within the limits of concurrent calls per
-- account, host and URL; per subject and receiver only the oldest event. Takes accounts in turn, of
-- each its due lanes in turn, of each lane its first deliveries: the cost depends on `places`, not on
-- how many accounts, lanes or deliveries are due. The lock on an account's row serializes claims of
-- this account only. Of `places`, `reserved` are for accounts without a call in progress, one each.
-- Returns each delivery as JSON, and then a null if more may be due than this claim looked at.
CREATE OR REPLACE FUNCTION troco_claim_deliveries(
  with_lease uuid, lasts_ms float8, places integer, reserved integer,
  of_account integer, of_host integer, of_url integer
) RETURNS SETOF text LANGUAGE plpgsql
-- A plan that was made while the tables were empty would read all of them when they are full, and one
-- for each call costs more than the call, and so does compiling it. Rows found in the same statement, or
-- locked, are addressed by ctid: it saves a descent of the primary key for each.
-- No statistics may choose an index: those of a table that has just grown hide that one account has most
-- of its rows. Without sorts, the ORDER BY of a subquery admits only the index with that order. A column
-- that has one value needs no order, so the last one that is compared has two bounds instead: >= and <=.
-- OFFSET 0 keeps a condition outside that would admit another index with the same order.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_sort = off SET enable_bitmapscan = off SET enable_material = off
SET plan_cache_mode = force_generic_plan SET jit = off AS $$
DECLARE
  -- A full lane or account is looked at again after this at the latest, in case no call ends.
  full_for CONSTANT interval := interval '5 seconds';
  open_places CONSTANT integer := greatest(places - reserved, 0);
  -- A part of the due accounts, so that other workers can claim from the rest meanwhile.
  accounts_max CONSTANT integer := ceil(open_places / 8.0);
  accounts uuid[]; quotas integer[]; quiet uuid[];
  lane_accounts uuid[]; lane_hosts text[]; lane_shares integer[]; lane_quotas integer[]; lane_calls integer[];
  have_more boolean[]; have_rest boolean[]; has_moved boolean := false;
  held_accounts uuid[]; held_hosts text[]; held_rows tid[]; held_calls integer[];
  moment timestamptz; is_cut boolean; has_due boolean := false;
BEGIN
  -- A claim promises nothing, and the result of a call is written to disk later: a crash of the server that
  -- loses the claim repeats the call, as the death of the worker does.
  PERFORM set_config('synchronous_commit', 'off', true);
  SELECT array_agg(a.account_id) INTO accounts FROM (
    SELECT d.account_id FROM delivery_accounts d WHERE d.due_at <= now()
    ORDER BY d.due_at LIMIT accounts_max FOR NO KEY UPDATE SKIP LOCKED) a;
  IF accounts IS NULL AND open_places > 0 THEN
    -- Another claim may hold the only due account and not see what just became due. Without a lock of
    -- its own, this one can wait for it. A second more, because that claim moves `due_at` past now().
    BEGIN
      PERFORM set_config('lock_timeout', '100ms', true);
      SELECT array_agg(a.account_id) INTO accounts FROM (
        SELECT d.account_id FROM delivery_accounts d WHERE d.due_at <= now() + interval '1 second'
        ORDER BY d.due_at LIMIT 1 FOR NO KEY UPDATE) a;
    EXCEPTION WHEN lock_not_available THEN
      RETURN NEXT NULL;
      RETURN;
    END;
  END IF;
  accounts := COALESCE(accounts, '{}');
  quotas := array_fill(open_places / greatest(cardinality(accounts), 1), ARRAY[cardinality(accounts)]);
  is_cut := cardinality(accounts) = accounts_max;
  IF is_cut AND open_places < reserved THEN
    -- Skips at most one account per call in progress: the cost does not depend on how many are due.
    SELECT array_agg(a.account_id) INTO quiet FROM (
      SELECT d.account_id FROM delivery_accounts d
      WHERE d.due_at <= now() AND d.account_id <> ALL (accounts) AND NOT EXISTS (
        SELECT FROM (SELECT f.due_at FROM deliveries f
          WHERE f.account_id = d.account_id AND f.lease IS NOT NULL ORDER BY f.host OFFSET 0) f
        WHERE f.due_at > now())
      ORDER BY d.due_at LIMIT places - open_places FOR NO KEY UPDATE SKIP LOCKED) a;
    accounts := accounts || COALESCE(quiet, '{}');
    quotas := quotas || array_fill(1, ARRAY[COALESCE(cardinality(quiet), 0)]);
  END IF;
  IF cardinality(accounts) = 0 THEN RETURN; END IF;

  -- From here on, each statement sees what earlier claims of these accounts committed, and `moment` is
  -- after the times that they wrote.
  moment := clock_timestamp();
  SELECT array_agg(v.account_id), array_agg(v.host), array_agg(v.share), array_agg(v.quota)
  INTO lane_accounts, lane_hosts, lane_shares, lane_quotas FROM (
    SELECT q.account_id, l.host, q.quota,
      ceil(q.quota::float8 / count(*) OVER (PARTITION BY q.account_id))::integer AS share
    FROM (
      SELECT t.account_id, greatest(0, least(t.quota, of_account - (
        SELECT count(*) FROM (SELECT f.due_at FROM deliveries f
          WHERE f.account_id = t.account_id AND f.lease IS NOT NULL ORDER BY f.host OFFSET 0) f
        WHERE f.due_at > moment)))::integer AS quota
      FROM unnest(accounts, quotas) AS t (account_id, quota) OFFSET 0) q
    CROSS JOIN LATERAL (
      SELECT l.host FROM delivery_lanes l WHERE l.account_id = q.account_id AND l.due_at <= moment
      ORDER BY l.due_at LIMIT q.quota) l) v;

  WITH lanes AS MATERIALIZED (
    SELECT t.account_id, t.host, t.quota, greatest(0, least(t.share, of_host - cardinality(c.urls))) AS room, c.urls
    FROM unnest(lane_accounts, lane_hosts, lane_shares, lane_quotas) AS t (account_id, host, share, quota)
    CROSS JOIN LATERAL (
      SELECT ARRAY(SELECT f.url FROM (SELECT f.url, f.due_at FROM deliveries f
        WHERE f.account_id = t.account_id AND f.host >= t.host AND f.host <= t.host
          AND f.lease IS NOT NULL ORDER BY f.host OFFSET 0) f
        WHERE f.due_at > moment) AS urls OFFSET 0) c
  ), window_rows AS MATERIALIZED (
    SELECT l.quota, l.room, l.urls, d.*, b.* FROM lanes l CROSS JOIN LATERAL (
      SELECT d.ctid AS row, d.account_id, d.host, d.url, d.due_at, d.sequence, d.subject_id,
        d.endpoint_id
      FROM deliveries d
      WHERE d.account_id = l.account_id AND d.host = l.host AND d.due_at <= moment
      ORDER BY d.due_at, d.sequence LIMIT l.room * 4) d
    CROSS JOIN LATERAL (
      SELECT count(*) > 0 AS waits, max(e.due_at) AS until FROM (
        SELECT e.due_at FROM deliveries e WHERE e.account_id = d.account_id
          AND e.subject_id >= d.subject_id AND e.subject_id <= d.subject_id
          AND e.endpoint_id IS NOT DISTINCT FROM d.endpoint_id
          AND e.status = 'pending' AND e.sequence < d.sequence ORDER BY e.subject_id) e) b
  ), window_picks AS (
    SELECT w.account_id, w.host, w.quota, w.room, w.urls, NOT w.waits AND of_url >=
        row_number() OVER (PARTITION BY w.account_id, w.url, w.waits ORDER BY w.due_at, w.sequence)
        + (SELECT count(*) FROM unnest(w.urls) AS u WHERE u = w.url) AS is_pick
    FROM window_rows w
  ), blocked AS (
    -- The window may be full of a few URLs that have their share: look for the other URLs.
    SELECT p.account_id, p.host, p.quota, p.room, p.urls FROM window_picks p
    GROUP BY p.account_id, p.host, p.quota, p.room, p.urls
    HAVING count(*) >= p.room * 4 AND count(*) FILTER (WHERE p.is_pick) < p.room
  ), url_rows AS (
    SELECT b.quota, b.room, b.urls, d.*, w.* FROM blocked b CROSS JOIN LATERAL (
      WITH RECURSIVE step AS (
        (SELECT hashtextextended(d.url, 0) AS url_hash, 1 AS nth FROM deliveries d
          WHERE d.due_at IS NOT NULL AND d.account_id = b.account_id AND d.host = b.host
          ORDER BY hashtextextended(d.url, 0) LIMIT 1)
        UNION ALL
        SELECT n.url_hash, s.nth + 1 FROM step s CROSS JOIN LATERAL (
          SELECT hashtextextended(d.url, 0) AS url_hash FROM deliveries d
          WHERE d.due_at IS NOT NULL AND d.account_id = b.account_id AND d.host = b.host
            AND hashtextextended(d.url, 0) > s.url_hash
          ORDER BY hashtextextended(d.url, 0) LIMIT 1) n
        WHERE s.nth < 64
      ) SELECT s.url_hash FROM step s) v
    CROSS JOIN LATERAL (
      SELECT d.ctid AS row, d.account_id, d.host, d.url, d.due_at, d.sequence, d.subject_id,
        d.endpoint_id
      FROM deliveries d
      WHERE d.account_id = b.account_id AND d.host = b.host AND hashtextextended(d.url, 0) >= v.url_hash
        AND hashtextextended(d.url, 0) <= v.url_hash AND d.due_at <= moment
      ORDER BY hashtextextended(d.url, 0), d.due_at LIMIT of_url) d
    CROSS JOIN LATERAL (
      SELECT count(*) > 0 AS waits, max(e.due_at) AS until FROM (
        SELECT e.due_at FROM deliveries e WHERE e.account_id = d.account_id
          AND e.subject_id >= d.subject_id AND e.subject_id <= d.subject_id
          AND e.endpoint_id IS NOT DISTINCT FROM d.endpoint_id
          AND e.status = 'pending' AND e.sequence < d.sequence ORDER BY e.subject_id) e) w
  ), candidates AS MATERIALIZED (
    SELECT * FROM window_rows UNION SELECT * FROM url_rows
  ), waiting AS (
    SELECT d.row, c.until FROM candidates c CROSS JOIN LATERAL (
      SELECT d.ctid AS row FROM deliveries d WHERE d.ctid = c.row AND d.due_at <= moment
      FOR UPDATE SKIP LOCKED) d
    WHERE c.waits
  ), put_back AS (
    -- A delivery that waits for an earlier event becomes due with it (troco_finish_deliveries), and takes no place
    -- among those that are read until then.
    UPDATE deliveries d SET due_at = greatest(moment + interval '1 second',
      COALESCE(w.until, moment + interval '1 minute'))
    FROM waiting w WHERE d.ctid = w.row
    RETURNING d.account_id, d.host
  ), of_urls AS (
    SELECT c.*, row_number() OVER (PARTITION BY c.account_id, c.url ORDER BY c.due_at, c.sequence)
      + (SELECT count(*) FROM unnest(c.urls) AS u WHERE u = c.url) AS nth
    FROM candidates c WHERE NOT c.waits
  ), of_hosts AS (
    SELECT u.*, row_number() OVER (PARTITION BY u.account_id, u.host ORDER BY u.due_at, u.sequence)
      AS nth_of_host
    FROM of_urls u WHERE u.nth <= of_url
  ), of_accounts AS (
    SELECT h.row, h.quota,
      row_number() OVER (PARTITION BY h.account_id ORDER BY h.nth_of_host, h.due_at, h.sequence) AS nth
    FROM of_hosts h WHERE h.nth_of_host <= h.room
  ), chosen AS (
    SELECT d.row FROM of_accounts a CROSS JOIN LATERAL (
      SELECT d.ctid AS row FROM deliveries d
      WHERE d.ctid = a.row AND d.due_at <= moment AND d.status = 'pending'
      FOR UPDATE SKIP LOCKED) d
    WHERE a.nth <= a.quota
  ), claimed AS (
    UPDATE deliveries d SET lease = with_lease,
      due_at = moment + make_interval(secs => lasts_ms / 1000)
    FROM chosen c WHERE d.ctid = c.row
    RETURNING d.account_id, d.host
  )
  SELECT array_agg(g.account_id), array_agg(g.host), array_agg(g.calls), array_agg(g.has_more),
    array_agg(g.has_more AND g.seen > g.moved), COALESCE(bool_or(g.moved > 0), false)
  INTO lane_accounts, lane_hosts, lane_calls, have_more, have_rest, has_moved FROM (
    -- `has_more`: the lane had no room for all that could start, or rows behind those put back.
    SELECT m.account_id, m.host, sum(m.calls)::integer AS calls, sum(m.seen) AS seen,
      sum(m.moved) AS moved, sum(m.picks) >= sum(m.room) OR bool_or(m.is_put_back) AS has_more
    FROM (
      SELECT l.account_id, l.host, cardinality(l.urls) AS calls, l.room, 0 AS seen, 0 AS picks,
        0 AS moved, false AS is_put_back FROM lanes l
      UNION ALL SELECT w.account_id, w.host, 0, 0, 1, 0, 0, false FROM window_rows w
      UNION ALL SELECT h.account_id, h.host, 0, 0, 0, 1, 0, false FROM of_hosts h
        WHERE h.nth_of_host <= h.room
      UNION ALL SELECT c.*, 1, 0, 0, 0, 1, false FROM claimed c
      UNION ALL SELECT b.*, 0, 0, 0, 0, 1, true FROM put_back b) m
    GROUP BY m.account_id, m.host) g;

  -- Rows are postponed or deleted under FOR UPDATE and after a new look, see troco_touch_lanes. A lane
  -- that stays due, or that a statement which adds work holds, goes to the end of its account's queue.
  SELECT array_agg(k.account_id), array_agg(k.host), array_agg(k.row), array_agg(k.calls),
    array_agg(k.has_more)
  INTO held_accounts, held_hosts, held_rows, held_calls, have_more FROM (
    SELECT t.account_id, t.host, l.row, t.calls, t.has_more
    FROM unnest(lane_accounts, lane_hosts, lane_calls, have_more, have_rest)
      AS t (account_id, host, calls, has_more, has_rest)
    CROSS JOIN LATERAL (
      SELECT l.ctid AS row FROM delivery_lanes l
      WHERE l.account_id = t.account_id AND l.host >= t.host AND l.host <= t.host
      ORDER BY l.host FOR UPDATE SKIP LOCKED) l
    WHERE NOT t.has_rest OR t.calls >= of_host) k;
  WITH state AS MATERIALIZED (
    SELECT t.row, n.due_at,
      n.due_at <= moment AND (c.calls >= of_host
        -- No call has ended since, and all URLs in sight have their share.
        OR c.calls >= t.calls AND NOT t.has_more) AS is_full, c.until
    FROM unnest(held_accounts, held_hosts, held_rows, held_calls, have_more)
      AS t (account_id, host, row, calls, has_more)
    LEFT JOIN LATERAL (
      SELECT d.due_at FROM deliveries d
      WHERE d.account_id = t.account_id AND d.host = t.host AND d.due_at IS NOT NULL
      ORDER BY d.due_at, d.sequence LIMIT 1) n ON true
    CROSS JOIN LATERAL (
      SELECT count(*) AS calls, COALESCE(min(f.due_at), moment + interval '1 second') AS until
      FROM (SELECT f.due_at FROM deliveries f
        WHERE f.account_id = t.account_id AND f.host >= t.host AND f.host <= t.host
          AND f.lease IS NOT NULL ORDER BY f.host OFFSET 0) f
      WHERE f.due_at > moment) c
  ), removed AS (
    DELETE FROM delivery_lanes l USING state s WHERE l.ctid = s.row AND s.due_at IS NULL
  )
  UPDATE delivery_lanes l SET is_full = s.is_full, due_at = CASE
    WHEN s.due_at > moment THEN s.due_at
    WHEN s.is_full THEN least(s.until, moment + full_for)
    ELSE clock_timestamp() END
  FROM state s WHERE l.ctid = s.row AND s.due_at IS NOT NULL;
  IF cardinality(lane_accounts) > COALESCE(cardinality(held_accounts), 0) THEN
    SELECT array_agg(l.row) INTO held_rows
    FROM unnest(lane_accounts, lane_hosts) AS t (account_id, host) CROSS JOIN LATERAL (
      SELECT l.ctid AS row FROM delivery_lanes l
      WHERE l.account_id = t.account_id AND l.host >= t.host AND l.host <= t.host
      ORDER BY l.host FOR NO KEY UPDATE SKIP LOCKED) l
    WHERE (t.account_id, t.host) NOT IN (SELECT * FROM unnest(held_accounts, held_hosts));
    UPDATE delivery_lanes l SET due_at = clock_timestamp() WHERE l.ctid = ANY (held_rows);
  END IF;

  SELECT array_agg(k.account_id) INTO held_accounts FROM (
    SELECT a.account_id FROM delivery_accounts a WHERE a.account_id = ANY (accounts)
      AND (COALESCE((SELECT l.due_at FROM delivery_lanes l WHERE l.account_id = a.account_id
          ORDER BY l.due_at LIMIT 1) > clock_timestamp(), true)
        OR of_account <= (SELECT count(*) FROM (SELECT f.due_at FROM deliveries f
            WHERE f.account_id = a.account_id AND f.lease IS NOT NULL ORDER BY f.host OFFSET 0) f
          WHERE f.due_at > moment))
    FOR UPDATE SKIP LOCKED) k;
  WITH state AS MATERIALIZED (
    SELECT t.account_id, n.due_at, n.due_at <= moment AND c.calls >= of_account AS is_full, c.until
    FROM unnest(held_accounts) AS t (account_id)
    LEFT JOIN LATERAL (
      SELECT l.due_at FROM delivery_lanes l WHERE l.account_id = t.account_id
      ORDER BY l.due_at LIMIT 1) n ON true
    CROSS JOIN LATERAL (
      SELECT count(*) AS calls, min(f.due_at) AS until FROM (
        SELECT f.due_at FROM deliveries f
        WHERE f.account_id = t.account_id AND f.lease IS NOT NULL ORDER BY f.host OFFSET 0) f
      WHERE f.due_at > moment) c
  ), removed AS (
    DELETE FROM delivery_accounts a USING state s
    WHERE a.account_id = s.account_id AND s.due_at IS NULL
  ), changed AS (
    UPDATE delivery_accounts a SET is_full = s.is_full, due_at = CASE
      WHEN s.due_at > clock_timestamp() THEN s.due_at
      WHEN s.is_full THEN least(s.until, moment + full_for)
      ELSE clock_timestamp() END
    FROM state s WHERE a.account_id = s.account_id AND s.due_at IS NOT NULL
    RETURNING a.due_at <= clock_timestamp() AS is_due
  )
  SELECT COALESCE(bool_or(c.is_due), false) INTO has_due FROM changed c;
  IF cardinality(accounts) > COALESCE(cardinality(held_accounts), 0) THEN
    has_due := true;
    UPDATE delivery_accounts a SET due_at = clock_timestamp()
    WHERE a.account_id = ANY (accounts) AND a.account_id <> ALL (COALESCE(held_accounts, '{}'));
  END IF;

  has_due := open_places > 0 AND (is_cut OR has_due AND has_moved
    OR EXISTS (SELECT FROM delivery_accounts d
      WHERE d.due_at <= moment AND d.account_id <> ALL (accounts)));
  RETURN QUERY
  SELECT json_build_object('accountId', d.account_id, 'id', d.id, 'mode', d.mode, 'lease', d.lease,
    'url', d.url, 'endpointId', d.endpoint_id, 'tried', d.attempts - d.attempts_before,
    'trace', e.trace, 'claimedAtMs', extract(epoch FROM clock_timestamp()) * 1000,
    'event', json_build_object('id', e.id, 'type', e.type, 'mode', e.mode, 'sequence', e.sequence,
      'resource', e.resource, 'created_at',
      to_char(e.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')),
    'body', (SELECT a.request_body FROM delivery_attempts a
      WHERE a.account_id = d.account_id AND a.delivery_id = d.id AND a.request_body IS NOT NULL
      ORDER BY a.number LIMIT 1),
    'secrets', (SELECT json_agg(json_build_object('id', s.id, 'sealed', encode(s.sealed, 'base64'))
        ORDER BY s.retires_at DESC NULLS FIRST)
      FROM webhook_secrets s WHERE s.account_id = d.account_id AND s.mode = d.mode
        AND s.endpoint_id IS NOT DISTINCT FROM d.endpoint_id
        AND (s.retires_at IS NULL OR s.retires_at > moment)))::text
  FROM (SELECT d.* FROM deliveries d
    WHERE d.lease >= with_lease AND d.lease <= with_lease ORDER BY d.lease) d
  CROSS JOIN LATERAL (SELECT e.* FROM events e WHERE e.account_id = d.account_id
    AND e.id >= d.event_id AND e.id <= d.event_id ORDER BY e.id) e
  ORDER BY d.sequence;
  IF has_due THEN RETURN NEXT NULL; END IF;
END $$;
