-- a new secret, with an Idempotency-Key
SELECT a.id
FROM accounts a
WHERE a.id = $1::uuid
FOR NO KEY UPDATE;

INSERT INTO idempotency_keys (account_id, mode, path, key, request_hash, resource_id, locked_until,
    locked_by, expires_at)
VALUES ($1::uuid, $2, $3, $4, $5, $6::uuid, NULL, NULL, now() + make_interval(secs => $7::float8));

DELETE FROM webhook_secrets s
WHERE s.account_id = $1::uuid AND s.mode = $2 AND s.endpoint_id IS NOT DISTINCT FROM $3::uuid
    AND s.retires_at <= clock_timestamp();

UPDATE webhook_secrets s
SET retires_at = COALESCE(s.retires_at, clock_timestamp() + interval '24 hours')
WHERE s.account_id = $1::uuid AND s.mode = $2 AND s.endpoint_id IS NOT DISTINCT FROM $3::uuid;

-- by the ORM: INSERT INTO webhook_secrets

-- by the ORM: INSERT INTO audit_log

SELECT (SELECT row_to_json(r) FROM (SELECT s.id, encode(s.sealed, 'base64') AS sealed,
    to_char(s.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at,
    to_char(b.previous_retires_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS previous_retires_at) r)::text AS json
FROM webhook_secrets s
CROSS JOIN LATERAL (SELECT max(o.retires_at) AS previous_retires_at
    FROM webhook_secrets o WHERE o.account_id = s.account_id AND o.mode = s.mode
    AND o.endpoint_id IS NOT DISTINCT FROM s.endpoint_id AND o.retires_at > now()
    AND o.retires_at < COALESCE(s.retires_at, 'infinity')) b
WHERE s.account_id = $1::uuid AND s.mode = $2 AND s.id = $3::uuid;

-- the current secret
-- by the ORM: INSERT INTO audit_log

SELECT (SELECT row_to_json(r) FROM (SELECT s.id, encode(s.sealed, 'base64') AS sealed,
    to_char(s.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at,
    to_char(b.previous_retires_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS previous_retires_at) r)::text AS json
FROM webhook_secrets s
CROSS JOIN LATERAL (SELECT max(o.retires_at) AS previous_retires_at
    FROM webhook_secrets o WHERE o.account_id = s.account_id AND o.mode = s.mode
    AND o.endpoint_id IS NOT DISTINCT FROM s.endpoint_id AND o.retires_at > now()
    AND o.retires_at < COALESCE(s.retires_at, 'infinity')) b
WHERE s.account_id = $1::uuid AND s.mode = $2 AND s.endpoint_id IS NOT DISTINCT FROM $3::uuid
    AND s.retires_at IS NULL;
