-- an attempt at an endpoint that is gone
SELECT to_json(id)::text AS json
FROM troco_finish_deliveries($1::json, $2::integer, interval '5 days') AS id;

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
