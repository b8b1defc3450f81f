-- version 1
-- Kept for processes of the previous release; troco_claim_deliveries_v2 replaced it.
-- Claims due deliveries within the limits of concurrent calls per
-- account, host and URL; per subject and receiver only the oldest event. Concurrent claims would exceed
-- the limits, so an advisory lock serializes them; it ends with the statement, even if the caller
-- stalls. Returns each delivery as JSON.
CREATE OR REPLACE FUNCTION troco_claim_deliveries(
  with_lease uuid, lasts_ms float8, most integer,
  of_account integer, of_host integer, of_url integer
) RETURNS SETOF text LANGUAGE plpgsql
-- A plan that was made while the table was empty would read all of it when it is full, and one for
-- each call costs more than the call, and so does compiling it.
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan SET jit = off AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(7270, 1);
  WITH RECURSIVE flying AS MATERIALIZED (
    SELECT f.account_id, f.host, f.url FROM deliveries f
    WHERE f.lease IS NOT NULL AND f.due_at > now()
  ), receivers AS (
    (SELECT d.account_id, d.host FROM deliveries d WHERE d.due_at IS NOT NULL
      ORDER BY d.account_id, d.host LIMIT 1)
    UNION ALL
    SELECT n.account_id, n.host FROM receivers r CROSS JOIN LATERAL (
      SELECT d.account_id, d.host FROM deliveries d
      WHERE d.due_at IS NOT NULL AND (d.account_id, d.host) > (r.account_id, r.host)
      ORDER BY d.account_id, d.host LIMIT 1) n
  ), window_rows AS (
    SELECT w.* FROM receivers r CROSS JOIN LATERAL (
      SELECT d.* FROM deliveries d
      WHERE d.account_id = r.account_id AND d.host = r.host AND d.due_at <= now()
      ORDER BY d.due_at, d.sequence LIMIT of_host * 4) w
  ), full_windows AS (
    SELECT w.account_id, w.host FROM window_rows w
    GROUP BY w.account_id, w.host HAVING count(*) >= of_host * 4
  ), urls AS (
    -- The window of a receiver may be full of one URL that has its share: the first of the others.
    SELECT v.account_id, v.host, v.url_hash FROM full_windows r CROSS JOIN LATERAL (
      WITH RECURSIVE step AS (
        (SELECT hashtextextended(d.url, 0) AS url_hash, 1 AS nth FROM deliveries d
          WHERE d.due_at IS NOT NULL AND d.account_id = r.account_id AND d.host = r.host
          ORDER BY hashtextextended(d.url, 0) LIMIT 1)
        UNION ALL
        SELECT n.url_hash, s.nth + 1 FROM step s CROSS JOIN LATERAL (
          SELECT hashtextextended(d.url, 0) AS url_hash FROM deliveries d
          WHERE d.due_at IS NOT NULL AND d.account_id = r.account_id AND d.host = r.host
            AND hashtextextended(d.url, 0) > s.url_hash
          ORDER BY hashtextextended(d.url, 0) LIMIT 1) n
        WHERE s.nth < 64
      ) SELECT r.account_id, r.host, s.url_hash FROM step s) v
  ), candidates AS MATERIALIZED (
    SELECT w.account_id, w.id, w.host, w.url, w.due_at, w.sequence, w.subject_id, w.endpoint_id
    FROM window_rows w
    UNION
    SELECT u.account_id, d.id, u.host, d.url, d.due_at, d.sequence, d.subject_id, d.endpoint_id
    FROM urls u CROSS JOIN LATERAL (
      SELECT d.* FROM deliveries d
      WHERE d.account_id = u.account_id AND d.host = u.host
        AND hashtextextended(d.url, 0) = u.url_hash AND d.due_at <= now()
      ORDER BY d.due_at LIMIT of_url) d
  ), judged AS MATERIALIZED (
    SELECT c.*, b.waits, b.until FROM candidates c CROSS JOIN LATERAL (
      SELECT count(*) > 0 AS waits, max(e.due_at) AS until FROM deliveries e
      WHERE e.account_id = c.account_id AND e.subject_id = c.subject_id
        AND e.endpoint_id IS NOT DISTINCT FROM c.endpoint_id
        AND e.status = 'pending' AND e.sequence < c.sequence) b
  ), put_back AS (
    -- What waits for an earlier event comes back with it, and fills no window until then.
    UPDATE deliveries d SET due_at = COALESCE(j.until, now() + interval '1 minute')
    FROM judged j
    WHERE j.waits AND COALESCE(j.until, 'infinity') > now()
      AND d.account_id = j.account_id AND d.id = j.id AND d.due_at <= now()
  ), of_urls AS (
    SELECT j.*, row_number() OVER (PARTITION BY j.account_id, j.url ORDER BY j.due_at, j.sequence)
      + (SELECT count(*) FROM flying f WHERE f.account_id = j.account_id AND f.url = j.url) AS nth
    FROM judged j WHERE NOT j.waits
  ), of_hosts AS (
    SELECT u.*, row_number() OVER (PARTITION BY u.account_id, u.host ORDER BY u.due_at, u.sequence)
      + (SELECT count(*) FROM flying f WHERE f.account_id = u.account_id AND f.host = u.host)
      AS nth_of_host
    FROM of_urls u WHERE u.nth <= of_url
  ), of_accounts AS (
    SELECT h.*, row_number() OVER (PARTITION BY h.account_id ORDER BY h.due_at, h.sequence)
      + (SELECT count(*) FROM flying f WHERE f.account_id = h.account_id) AS nth_of_account
    FROM of_hosts h WHERE h.nth_of_host <= of_host
  ), chosen AS (
    SELECT d.account_id, d.id FROM of_accounts a
    JOIN deliveries d ON d.account_id = a.account_id AND d.id = a.id
    WHERE a.nth_of_account <= of_account AND d.due_at <= now() AND d.status = 'pending'
    ORDER BY a.nth_of_account, a.due_at LIMIT most
    FOR UPDATE OF d SKIP LOCKED
  )
  UPDATE deliveries d SET lease = with_lease,
    due_at = now() + make_interval(secs => lasts_ms / 1000)
  FROM chosen c WHERE d.account_id = c.account_id AND d.id = c.id;
  IF NOT FOUND THEN RETURN; END IF;
  RETURN QUERY
  SELECT json_build_object('accountId', d.account_id, 'id', d.id, 'mode', d.mode, 'lease', d.lease,
    'url', d.url, 'endpointId', d.endpoint_id, 'tried', d.attempts - d.attempts_before,
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
        AND (s.retires_at IS NULL OR s.retires_at > now())))::text
  FROM deliveries d JOIN events e ON e.account_id = d.account_id AND e.id = d.event_id
  WHERE d.lease = with_lease ORDER BY d.sequence;
END $$;
