-- a pending delivery
SELECT d.status, d.lease IS NOT NULL AND d.due_at > now() AS "isUnderWay",
    p.disabled_at IS NOT NULL AS "isDisabled", p.deleted_at IS NOT NULL AS "isDeleted"
FROM deliveries d
LEFT JOIN webhook_endpoints p ON p.account_id = d.account_id AND p.id = d.endpoint_id
WHERE d.account_id = $1::uuid AND d.mode = $2 AND d.id = $3::uuid
FOR UPDATE OF d;

UPDATE deliveries d
SET due_at = now(), lease = NULL, updated_at = now()
WHERE d.account_id = $1::uuid AND d.id = $2::uuid;

-- by the ORM: INSERT INTO audit_log

-- an exhausted delivery
SELECT d.status, d.lease IS NOT NULL AND d.due_at > now() AS "isUnderWay",
    p.disabled_at IS NOT NULL AS "isDisabled", p.deleted_at IS NOT NULL AS "isDeleted"
FROM deliveries d
LEFT JOIN webhook_endpoints p ON p.account_id = d.account_id AND p.id = d.endpoint_id
WHERE d.account_id = $1::uuid AND d.mode = $2 AND d.id = $3::uuid
FOR UPDATE OF d;

UPDATE deliveries d
SET status = 'pending', due_at = now(), lease = NULL, delivered_at = NULL,
    attempts_before = d.attempts, updated_at = now()
WHERE d.account_id = $1::uuid AND d.id = $2::uuid;

-- by the ORM: INSERT INTO audit_log

-- failed deliveries that match all filters
-- by the ORM: SELECT FROM webhook_endpoints

-- by the ORM: INSERT INTO audit_log

WITH chosen AS MATERIALIZED (
  SELECT d.account_id, d.id
  FROM deliveries d
  WHERE d.account_id = $1::uuid AND d.mode = $2 AND d.status <> 'delivered'
      AND (CASE WHEN d.status = 'pending' AND d.due_at IS NULL THEN 'paused'
      ELSE d.status END) IN ($3) AND d.created_at >= $4::timestamptz
      AND d.created_at < $5::timestamptz AND d.endpoint_id = $6::uuid
      AND d.subject_id = ANY ($7::uuid[])
      AND EXISTS (SELECT 1 FROM events e WHERE e.account_id = d.account_id
      AND e.id = d.event_id AND e.type = ANY ($8::text[]))
      AND NOT EXISTS (SELECT 1 FROM webhook_endpoints p WHERE p.account_id = d.account_id
      AND p.id = d.endpoint_id AND p.disabled_at IS NOT NULL)
  ORDER BY d.sequence, d.id
  LIMIT $9
  FOR UPDATE
), changed AS (
  UPDATE deliveries d
  SET status = 'pending', due_at = now(), lease = NULL, delivered_at = NULL,
      attempts_before = d.attempts, updated_at = now()
  FROM chosen c
  WHERE d.account_id = c.account_id AND d.id = c.id
  RETURNING d.sequence, d.id
)
SELECT sequence, id
FROM changed
ORDER BY sequence, id;

-- failed deliveries, counted
SELECT count(*) AS failed
FROM (SELECT 1 FROM deliveries d WHERE d.account_id = $1::uuid AND d.mode = $2
    AND d.status <> 'delivered' AND (CASE WHEN d.status = 'pending'
    AND d.due_at IS NULL THEN 'paused' ELSE d.status END) IN ($3)
    AND d.created_at >= $4::timestamptz AND d.created_at < $5::timestamptz
    AND d.endpoint_id = $6::uuid AND d.subject_id = ANY ($7::uuid[])
    AND EXISTS (SELECT 1 FROM events e WHERE e.account_id = d.account_id AND e.id = d.event_id
    AND e.type = ANY ($8::text[]))
    AND NOT EXISTS (SELECT 1 FROM webhook_endpoints p WHERE p.account_id = d.account_id
    AND p.id = d.endpoint_id AND p.disabled_at IS NOT NULL) LIMIT $9) t;
