-- version 3
-- Stores results of attempts for lib/webhooks/deliver.ts and returns the endpoints to disable: those
-- with `exhausted_min` exhausted deliveries that have failed for `failing_min`. The number of attempts is the fencing
-- token: if another attempt ended since the delivery was read, or it was stopped, only the attempt is stored. The
-- plans depend on no statistics (troco_read_deliveries), and rows that are locked are addressed by ctid.
CREATE OR REPLACE FUNCTION troco_finish_deliveries(
  results json, exhausted_min integer, failing_min interval
) RETURNS SETOF uuid LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_sort = off SET enable_bitmapscan = off SET enable_material = off
SET plan_cache_mode = force_generic_plan SET jit = off
-- A lock that lasts, as of a process that has lost its network, fails the batch, and then its own result only.
SET lock_timeout = '1s' AS $$
DECLARE
  held_ids uuid[]; held_rows tid[]; next_rows tid[];
  ended_accounts uuid[]; ended_subjects uuid[]; ended_endpoints uuid[]; ended_sequences bigint[];
BEGIN
  SELECT array_agg(k.id), array_agg(k.row),
    array_agg(k.account_id) FILTER (WHERE k.status <> 'pending'),
    array_agg(k.subject_id) FILTER (WHERE k.status <> 'pending'),
    array_agg(k.endpoint_id) FILTER (WHERE k.status <> 'pending'),
    array_agg(k.sequence) FILTER (WHERE k.status <> 'pending')
  INTO held_ids, held_rows, ended_accounts, ended_subjects, ended_endpoints, ended_sequences
  FROM (
    SELECT t.account_id, t.id, t.status, d.row, d.subject_id, d.endpoint_id, d.sequence
    FROM json_to_recordset(results) AS t (account_id uuid, id uuid, attempts integer, status text)
    CROSS JOIN LATERAL (
      SELECT d.ctid AS row, d.subject_id, d.endpoint_id, d.sequence FROM deliveries d
      WHERE d.account_id = t.account_id AND d.id >= t.id AND d.id <= t.id
        AND d.status = 'pending' AND d.attempts = t.attempts
      ORDER BY d.id FOR NO KEY UPDATE) d) k;
  SELECT array_agg(k.row) INTO next_rows FROM (
    SELECT n.row FROM unnest(ended_accounts, ended_subjects, ended_endpoints, ended_sequences)
      AS f (account_id, subject_id, endpoint_id, sequence)
    CROSS JOIN LATERAL (
      SELECT n.ctid AS row FROM deliveries n WHERE n.account_id = f.account_id
        AND n.subject_id >= f.subject_id AND n.subject_id <= f.subject_id
        AND n.endpoint_id IS NOT DISTINCT FROM f.endpoint_id AND n.sequence > f.sequence
        AND n.status = 'pending' AND n.due_at > now()
      ORDER BY n.subject_id FOR NO KEY UPDATE) n) k;

  RETURN QUERY
  WITH tried AS MATERIALIZED (
    SELECT t.*, held_rows[array_position(held_ids, t.id)] AS row
    FROM json_to_recordset(results) AS t (account_id uuid, id uuid, endpoint_id uuid, status text,
      due_in_ms float8, request_headers json, request_body text, address text,
      response_status integer, response_headers json, response_body text, problem text,
      problem_code text, problem_params json, duration_ms integer)
  ), finished AS (
    UPDATE deliveries d SET status = t.status, attempts = d.attempts + 1,
      delivered_at = CASE WHEN t.status = 'delivered' THEN now() END, updated_at = now(),
      due_at = CASE WHEN t.status = 'pending' AND p.disabled_at IS NULL
        THEN now() + make_interval(secs => t.due_in_ms / 1000) END
    FROM tried t LEFT JOIN LATERAL (
      SELECT p.disabled_at FROM webhook_endpoints p WHERE p.account_id = t.account_id
        AND p.id >= t.endpoint_id AND p.id <= t.endpoint_id ORDER BY p.id OFFSET 0) p ON true
    WHERE d.ctid = t.row
    RETURNING d.account_id, d.endpoint_id, d.status
  ), kept AS (
    INSERT INTO delivery_attempts (account_id, delivery_id, number, request_headers,
      request_body, address, response_status, response_headers, response_body, problem,
      problem_code, problem_params, duration_ms)
    SELECT t.account_id, t.id, 1 + COALESCE((SELECT a.number FROM delivery_attempts a
        WHERE a.account_id = t.account_id AND a.delivery_id = t.id ORDER BY a.number DESC LIMIT 1), 0),
      t.request_headers, t.request_body, t.address, t.response_status,
      t.response_headers, t.response_body, t.problem, t.problem_code, t.problem_params,
      t.duration_ms
    FROM tried t
  ), freed AS (
    UPDATE deliveries n SET due_at = now() WHERE n.ctid = ANY (next_rows)
  ), of_endpoints AS (
    SELECT f.account_id, f.endpoint_id, bool_or(f.status = 'delivered') AS told,
      count(*) FILTER (WHERE f.status = 'exhausted')::integer AS exhausted
    FROM finished f WHERE f.endpoint_id IS NOT NULL GROUP BY f.account_id, f.endpoint_id
  ), counted AS (
    UPDATE webhook_endpoints p SET
      failing_since = CASE WHEN NOT e.told THEN COALESCE(p.failing_since, now()) END,
      exhausted = CASE WHEN e.told THEN 0 ELSE p.exhausted + e.exhausted END
    FROM of_endpoints e WHERE p.account_id = e.account_id AND p.id = e.endpoint_id
      AND (e.exhausted > 0 OR e.told = (p.failing_since IS NOT NULL))
    RETURNING p.id, p.disabled_at IS NULL AND p.exhausted >= exhausted_min
      AND p.failing_since < now() - failing_min AS is_given_up
  )
  SELECT c.id FROM counted c WHERE c.is_given_up;
END $$;
