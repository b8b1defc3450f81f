-- an endpoint, disabled
SELECT p.id
FROM webhook_endpoints p
WHERE p.account_id = $1::uuid AND p.id = $2::uuid
FOR NO KEY UPDATE;

-- by the ORM: SELECT FROM webhook_endpoints

-- by the ORM: UPDATE webhook_endpoints

-- by the ORM: INSERT INTO audit_log

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

-- an endpoint, enabled without the missed deliveries
SELECT p.id
FROM webhook_endpoints p
WHERE p.account_id = $1::uuid AND p.id = $2::uuid
FOR NO KEY UPDATE;

-- by the ORM: SELECT FROM webhook_endpoints

WITH chosen AS MATERIALIZED (
  SELECT d.account_id, d.id
  FROM deliveries d
  WHERE d.account_id = $1::uuid AND d.endpoint_id = $2::uuid AND d.status <> 'delivered'
      AND (CASE WHEN d.status = 'pending' AND d.due_at IS NULL THEN 'paused'
      ELSE d.status END) IN ($3)
  ORDER BY d.sequence, d.id
  LIMIT $4
  FOR UPDATE
), changed AS (
  UPDATE deliveries d
  SET status = 'stopped', updated_at = now()
  FROM chosen c
  WHERE d.account_id = c.account_id AND d.id = c.id
  RETURNING d.sequence, d.id
)
SELECT sequence, id
FROM changed
ORDER BY sequence, id;

-- by the ORM: UPDATE webhook_endpoints

-- by the ORM: INSERT INTO audit_log

-- an endpoint, enabled with the missed deliveries
SELECT p.id
FROM webhook_endpoints p
WHERE p.account_id = $1::uuid AND p.id = $2::uuid
FOR NO KEY UPDATE;

-- by the ORM: SELECT FROM webhook_endpoints

WITH chosen AS MATERIALIZED (
  SELECT d.account_id, d.id
  FROM deliveries d
  WHERE d.account_id = $1::uuid AND d.endpoint_id = $2::uuid AND d.status <> 'delivered'
      AND (CASE WHEN d.status = 'pending' AND d.due_at IS NULL THEN 'paused'
      ELSE d.status END) IN ($3,$4)
      AND d.updated_at >= (SELECT p.failing_since
      FROM webhook_endpoints p WHERE p.account_id = $5::uuid AND p.id = $6::uuid)
  ORDER BY d.sequence, d.id
  LIMIT $7
  FOR UPDATE
), changed AS (
  UPDATE deliveries d
  SET status = 'pending', attempts_before = d.attempts, updated_at = now()
  FROM chosen c
  WHERE d.account_id = c.account_id AND d.id = c.id
  RETURNING d.sequence, d.id
)
SELECT sequence, id
FROM changed
ORDER BY sequence, id;

-- by the ORM: UPDATE webhook_endpoints

-- by the ORM: INSERT INTO audit_log

WITH chosen AS MATERIALIZED (
  SELECT d.account_id, d.id
  FROM deliveries d
  WHERE d.account_id = $1::uuid AND d.endpoint_id = $2::uuid AND d.status <> 'delivered'
      AND (CASE WHEN d.status = 'pending' AND d.due_at IS NULL THEN 'paused'
      ELSE d.status END) IN ($3)
  ORDER BY d.sequence, d.id
  LIMIT $4
  FOR UPDATE
), changed AS (
  UPDATE deliveries d
  SET due_at = now(), updated_at = now()
  FROM chosen c
  WHERE d.account_id = c.account_id AND d.id = c.id
  RETURNING d.sequence, d.id
)
SELECT sequence, id
FROM changed
ORDER BY sequence, id;

-- the missed deliveries, counted
SELECT (SELECT count(*) FROM deliveries d WHERE d.account_id = $1::uuid
    AND d.endpoint_id = $2::uuid AND d.mode = $3 AND d.status <> 'delivered'
    AND (CASE WHEN d.status = 'pending' AND d.due_at IS NULL THEN 'paused'
    ELSE d.status END) IN ($4)) + (SELECT count(*)
    FROM deliveries d WHERE d.account_id = $5::uuid AND d.endpoint_id = $6::uuid
    AND d.mode = $7 AND d.status <> 'delivered'
    AND (CASE WHEN d.status = 'pending' AND d.due_at IS NULL THEN 'paused'
    ELSE d.status END) IN ($8,$9) AND d.updated_at >= (SELECT p.failing_since
    FROM webhook_endpoints p WHERE p.account_id = $10::uuid AND p.id = $11::uuid)) AS missed;
