-- an attempt at an endpoint that is gone
WITH tried AS (
  SELECT *
  FROM json_to_recordset($1::json) AS t (account_id uuid, id uuid, lease uuid, endpoint_id uuid,
      status text, due_in_ms float8, request_headers json, request_body text, address text,
      response_status integer, response_headers json, response_body text, problem text,
      problem_code text, problem_params json, duration_ms integer)
), finished AS (
  UPDATE deliveries d
  SET status = t.status, lease = NULL, attempts = d.attempts + 1, delivered_at = CASE
      WHEN t.status = 'delivered' THEN now() END, updated_at = now(), due_at = CASE
      WHEN t.status = 'pending' AND p.disabled_at IS NULL THEN now() + make_interval(secs =>
      t.due_in_ms / 1000) END
  FROM tried t
  LEFT JOIN webhook_endpoints p ON p.account_id = t.account_id AND p.id = t.endpoint_id
  WHERE d.account_id = t.account_id AND d.id = t.id AND d.lease = t.lease
  RETURNING d.*
), kept AS (
  INSERT INTO delivery_attempts (account_id, delivery_id, number, request_headers, request_body,
      address, response_status, response_headers, response_body, problem, problem_code,
      problem_params, duration_ms)
  SELECT t.account_id, t.id, 1 + COALESCE((SELECT max(a.number)
      FROM delivery_attempts a WHERE a.account_id = t.account_id AND a.delivery_id = t.id), 0),
      t.request_headers, t.request_body, t.address, t.response_status, t.response_headers,
      t.response_body, t.problem, t.problem_code, t.problem_params, t.duration_ms
  FROM tried t
), freed AS (
  UPDATE deliveries n
  SET due_at = now()
  FROM finished f
  WHERE f.status <> 'pending' AND n.account_id = f.account_id AND n.subject_id = f.subject_id
      AND n.endpoint_id IS NOT DISTINCT FROM f.endpoint_id AND n.sequence > f.sequence
      AND n.status = 'pending' AND n.lease IS NULL AND n.due_at > now()
), of_endpoints AS (
  SELECT f.account_id, f.endpoint_id, bool_or(f.status = 'delivered') AS told,
      count(*) FILTER (WHERE f.status = 'exhausted')::integer AS exhausted
  FROM finished f
  WHERE f.endpoint_id IS NOT NULL
  GROUP BY f.account_id, f.endpoint_id
), counted AS (
  UPDATE webhook_endpoints p
  SET failing_since = CASE WHEN NOT e.told THEN COALESCE(p.failing_since, now()) END,
      exhausted = CASE WHEN e.told THEN 0 ELSE p.exhausted + e.exhausted END
  FROM of_endpoints e
  WHERE p.account_id = e.account_id AND p.id = e.endpoint_id
      AND (e.exhausted > 0 OR e.told = (p.failing_since IS NOT NULL))
  RETURNING p.id, p.disabled_at IS NULL AND p.exhausted >= $2
      AND p.failing_since < now() - interval '5 days' AS is_given_up
)
SELECT json_build_object('id', id)::text AS json
FROM counted
WHERE is_given_up;

-- by the ORM: UPDATE webhook_endpoints

WITH chosen AS MATERIALIZED (
  SELECT d.account_id, d.id
  FROM deliveries d
  WHERE d.account_id = $1::uuid AND d.endpoint_id = $2::uuid AND d.status = 'pending'
      AND d.due_at IS NOT NULL AND d.lease IS NULL
  ORDER BY d.sequence, d.id
  LIMIT $3
  FOR UPDATE
), changed AS (
  UPDATE deliveries d
  SET due_at = NULL, updated_at = now()
  FROM chosen c
  WHERE d.account_id = c.account_id AND d.id = c.id
  RETURNING d.sequence, d.id
)
SELECT sequence, id
FROM changed
ORDER BY sequence, id;
