-- version 2
-- Reads due deliveries of queues that a worker holds, for lib/webhooks/queue.ts, as JSON. First come the oldest 64
-- that are not `held`, without those to `full_hosts` and `full_urls`, of which all calls hang. If they are 64, the rest
-- may lead elsewhere: up to `of_url` of each further URL follow, beginning after `after`, unless these or the worker
-- already have enough of its host (`of_host`) or URL (`busy_hosts`, `busy_urls`).
-- Of a subject and receiver only the oldest pending event is read; a later one becomes due again with it.
-- Ends with a row for each queue that is still held: whether there may be more, how many were put back, where to
-- continue.
CREATE OR REPLACE FUNCTION troco_read_deliveries(
  with_lease uuid, queues json, of_host integer, of_url integer
) RETURNS SETOF text LANGUAGE plpgsql
-- A plan made while the tables were empty would read all of them when they are full, and no statistics may choose an
-- index: those of a table that has just grown hide that one account has most of its rows. Without sorts, the ORDER BY
-- of a subquery admits only the index with that order. A column that has one value needs no order, so the last one
-- that is compared has two bounds instead: >= and <=.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_sort = off SET enable_bitmapscan = off SET enable_material = off
SET plan_cache_mode = force_generic_plan SET jit = off AS $$
DECLARE
  moment CONSTANT timestamptz := clock_timestamp();
  rows_max CONSTANT integer := 64;
BEGIN
  -- Putting back promises nothing: a crash that loses it repeats it.
  PERFORM set_config('synchronous_commit', 'off', true);
  RETURN QUERY
  WITH held AS MATERIALIZED (
    SELECT k.* FROM json_to_recordset(queues) AS k (account_id uuid, held uuid[], full_hosts text[],
      full_urls text[], busy_hosts text[], busy_urls text[], after_host text, after_url bigint)
    CROSS JOIN LATERAL (
      SELECT FROM delivery_queues q
      WHERE q.account_id = k.account_id AND q.lease = with_lease AND q.due_at > moment) q
  ), oldest AS MATERIALIZED (
    SELECT d.ctid AS row, d.account_id, d.id, d.mode, d.host, d.url, d.due_at, d.sequence, d.subject_id,
      d.event_id, d.endpoint_id, d.attempts, d.attempts_before,
      d.url = ANY (h.full_urls) OR d.host = ANY (h.full_hosts) AS is_full
    FROM held h CROSS JOIN LATERAL (
      SELECT d.ctid, d.* FROM deliveries d
      WHERE d.account_id = h.account_id AND d.due_at <= moment AND d.id <> ALL (h.held)
      ORDER BY d.due_at, d.sequence LIMIT rows_max) d
  ), cut AS MATERIALIZED (
    SELECT h.account_id, h.after_host, h.after_url, h.held || o.ids AS held,
      ARRAY(SELECT b FROM unnest(h.busy_hosts) b UNION ALL
        SELECT t.host FROM (
          SELECT b.host, least(count(*), of_url) AS calls FROM unnest(o.hosts, o.urls) AS b (host, url)
          GROUP BY b.host, b.url) t
        GROUP BY t.host HAVING sum(t.calls) >= of_host) AS busy_hosts,
      ARRAY(SELECT hashtextextended(b, 0) FROM (SELECT b FROM unnest(h.busy_urls) b UNION ALL
        SELECT b FROM unnest(o.urls) b GROUP BY b HAVING count(*) >= of_url) t) AS busy_urls
    FROM (
      SELECT o.account_id, array_agg(o.id) AS ids, array_agg(o.host) AS hosts, array_agg(o.url) AS urls
      FROM oldest o GROUP BY o.account_id HAVING count(*) = rows_max) o
    JOIN held h ON h.account_id = o.account_id
  ), others AS MATERIALIZED (
    SELECT c.account_id, u.host, u.url_hash, u.nth, u.row FROM cut c CROSS JOIN LATERAL (
      WITH RECURSIVE step AS (
        (SELECT d.host, hashtextextended(d.url, 0) AS url_hash, 1 AS nth FROM deliveries d
          WHERE d.due_at IS NOT NULL AND d.account_id = c.account_id
            AND (d.host, hashtextextended(d.url, 0)) > (c.after_host, c.after_url)
          ORDER BY d.host, hashtextextended(d.url, 0) LIMIT 1)
        UNION ALL
        SELECT n.host, n.url_hash, p.nth + 1 FROM step p CROSS JOIN LATERAL (
          SELECT d.host, hashtextextended(d.url, 0) AS url_hash FROM deliveries d
          WHERE d.due_at IS NOT NULL AND d.account_id = c.account_id
            AND (d.host, hashtextextended(d.url, 0)) > (p.host,
              CASE WHEN p.host = ANY (c.busy_hosts) THEN 9223372036854775807 ELSE p.url_hash END)
          ORDER BY d.host, hashtextextended(d.url, 0) LIMIT 1) n
      )
      SELECT p.host, p.url_hash, p.nth, d.row FROM step p LEFT JOIN LATERAL (
        SELECT d.ctid AS row FROM deliveries d
        WHERE d.account_id = c.account_id AND d.host = p.host AND hashtextextended(d.url, 0) >= p.url_hash
          AND hashtextextended(d.url, 0) <= p.url_hash AND d.due_at <= moment AND d.id <> ALL (c.held)
          AND p.host <> ALL (c.busy_hosts) AND p.url_hash <> ALL (c.busy_urls)
        ORDER BY hashtextextended(d.url, 0), d.due_at LIMIT of_url) d ON true
      LIMIT rows_max) u
  ), found AS MATERIALIZED (
    SELECT f.*, w.waits, w.until FROM (
      SELECT o.* FROM oldest o WHERE NOT o.is_full
      UNION ALL
      SELECT d.ctid, d.account_id, d.id, d.mode, d.host, d.url, d.due_at, d.sequence, d.subject_id,
        d.event_id, d.endpoint_id, d.attempts, d.attempts_before, false
      FROM others u JOIN deliveries d ON d.ctid = u.row) f
    CROSS JOIN LATERAL (
      SELECT count(*) > 0 AS waits, max(e.due_at) AS until FROM (
        SELECT e.due_at FROM deliveries e WHERE e.account_id = f.account_id
          AND e.subject_id >= f.subject_id AND e.subject_id <= f.subject_id
          AND e.endpoint_id IS NOT DISTINCT FROM f.endpoint_id
          AND e.status = 'pending' AND e.sequence < f.sequence ORDER BY e.subject_id) e) w
  ), waiting AS (
    SELECT d.row, f.until FROM found f CROSS JOIN LATERAL (
      SELECT d.ctid AS row FROM deliveries d WHERE d.ctid = f.row AND d.due_at <= moment
      FOR UPDATE SKIP LOCKED) d
    WHERE f.waits
  ), put_back AS (
    -- It becomes due with the earlier event (troco_finish_deliveries), and hides no other until then.
    UPDATE deliveries d SET due_at = greatest(moment + interval '1 second',
      COALESCE(w.until, moment + interval '1 minute'))
    FROM waiting w WHERE d.ctid = w.row
    RETURNING d.account_id
  )
  SELECT json_build_object('accountId', f.account_id, 'id', f.id, 'mode', f.mode, 'host', f.host, 'url', f.url,
    'endpointId', f.endpoint_id, 'attempts', f.attempts, 'tried', f.attempts - f.attempts_before,
    'trace', e.trace, 'readAtMs', extract(epoch FROM clock_timestamp()) * 1000,
    'event', json_build_object('id', e.id, 'type', e.type, 'mode', e.mode, 'sequence', e.sequence,
      'resource', e.resource, 'created_at',
      to_char(e.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')),
    'hasFault', CASE WHEN f.mode = 'test' THEN EXISTS (SELECT FROM sandbox_controls s
      WHERE s.account_id = f.account_id AND s.kind <> 'clock' AND s.amount > 0 AND s.ends_at > moment)
      ELSE false END,
    'form', (SELECT json_build_object('showsDocuments', p.full_documents AND p.url = f.url, 'isApiPix', p.is_api_pix)
      FROM webhook_endpoints p WHERE p.account_id = f.account_id AND p.id = f.endpoint_id),
    'body', (SELECT a.request_body FROM delivery_attempts a
      WHERE a.account_id = f.account_id AND a.delivery_id = f.id AND a.request_body IS NOT NULL
      ORDER BY a.number LIMIT 1),
    'secrets', (SELECT json_agg(json_build_object('id', s.id, 'sealed', encode(s.sealed, 'base64'))
        ORDER BY s.retires_at DESC NULLS FIRST)
      FROM webhook_secrets s WHERE s.account_id = f.account_id AND s.mode = f.mode
        AND s.endpoint_id IS NOT DISTINCT FROM f.endpoint_id
        AND (s.retires_at IS NULL OR s.retires_at > moment)))::text
  FROM found f CROSS JOIN LATERAL (SELECT e.* FROM events e
    WHERE e.account_id = f.account_id AND e.id >= f.event_id AND e.id <= f.event_id ORDER BY e.id) e
  WHERE NOT f.waits
  UNION ALL
  SELECT json_build_object('accountId', h.account_id, 'hasMore', c.account_id IS NOT NULL,
    'putBack', (SELECT count(*) FROM put_back b WHERE b.account_id = h.account_id), 'after', n.after)::text
  FROM held h LEFT JOIN cut c ON c.account_id = h.account_id
  LEFT JOIN (
    SELECT u.account_id, (array_agg(json_build_array(u.host, u.url_hash::text) ORDER BY u.nth DESC))[1] AS after
    FROM others u GROUP BY u.account_id HAVING count(*) = rows_max) n ON n.account_id = h.account_id;
END $$;
