-- a new endpoint, with an Idempotency-Key
SELECT a.id
FROM accounts a
WHERE a.id = $1::uuid
FOR NO KEY UPDATE;

INSERT INTO idempotency_keys (account_id, mode, path, key, request_hash, resource_id, locked_until,
    locked_by, expires_at)
VALUES ($1::uuid, $2, $3, $4, $5, $6::uuid, NULL, NULL, now() + make_interval(secs => $7::float8));

-- by the ORM: SELECT FROM webhook_endpoints

-- by the ORM: INSERT INTO webhook_endpoints

-- by the ORM: INSERT INTO webhook_secrets

-- by the ORM: INSERT INTO audit_log

-- another URL
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
  WHERE d.account_id = $1::uuid AND d.endpoint_id = $2::uuid AND d.status <> 'delivered'
      AND (CASE WHEN d.status = 'pending' AND d.due_at IS NULL THEN 'paused'
      ELSE d.status END) IN ($3,$4) AND d.url <> $5
  ORDER BY d.sequence, d.id
  LIMIT $6
  FOR UPDATE
), changed AS (
  UPDATE deliveries d
  SET url = $7, host = $8, updated_at = now()
  FROM chosen c
  WHERE d.account_id = c.account_id AND d.id = c.id
  RETURNING d.sequence, d.id
)
SELECT sequence, id
FROM changed
ORDER BY sequence, id;

-- a deleted endpoint, with a pending delivery
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
  WHERE d.account_id = $1::uuid AND d.endpoint_id = $2::uuid AND d.status <> 'delivered'
      AND (CASE WHEN d.status = 'pending' AND d.due_at IS NULL THEN 'paused'
      ELSE d.status END) IN ($3,$4)
  ORDER BY d.sequence, d.id
  LIMIT $5
  FOR UPDATE
), changed AS (
  UPDATE deliveries d
  SET status = 'stopped', due_at = NULL, lease = NULL, updated_at = now()
  FROM chosen c
  WHERE d.account_id = c.account_id AND d.id = c.id
  RETURNING d.sequence, d.id
)
SELECT sequence, id
FROM changed
ORDER BY sequence, id;

WITH chosen AS MATERIALIZED (
  SELECT d.account_id, d.id
  FROM deliveries d
  WHERE d.account_id = $1::uuid AND d.endpoint_id = $2::uuid AND d.status <> 'delivered'
      AND (CASE WHEN d.status = 'pending' AND d.due_at IS NULL THEN 'paused'
      ELSE d.status END) IN ($3,$4) AND (d.sequence, d.id) > ($5::bigint, $6::uuid)
  ORDER BY d.sequence, d.id
  LIMIT $7
  FOR UPDATE
), changed AS (
  UPDATE deliveries d
  SET status = 'stopped', due_at = NULL, lease = NULL, updated_at = now()
  FROM chosen c
  WHERE d.account_id = c.account_id AND d.id = c.id
  RETURNING d.sequence, d.id
)
SELECT sequence, id
FROM changed
ORDER BY sequence, id;
