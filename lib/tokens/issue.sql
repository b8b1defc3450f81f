-- a token, with an Idempotency-Key
SELECT a.id
FROM accounts a
WHERE a.id = $1::uuid
FOR NO KEY UPDATE;

INSERT INTO idempotency_keys (account_id, mode, path, key, request_hash, resource_id, locked_until,
    locked_by, expires_at)
VALUES ($1::uuid, $2, $3, $4, $5, $6::uuid, NULL, NULL, now() + make_interval(secs => $7::float8));

SELECT count(*) FILTER (WHERE t.replaced_by IS NULL)::int AS lasting, count(*)::int AS working
FROM tokens t
WHERE t.account_id = $1::uuid AND t.mode = $2
    AND ((t.revoked_at IS NULL AND COALESCE(t.expires_at, 'infinity') > now())
    AND (t.parent_id IS NULL OR EXISTS (SELECT 1
    FROM tokens p WHERE p.account_id = t.account_id AND p.id = t.parent_id
    AND (p.revoked_at IS NULL AND COALESCE(p.expires_at, 'infinity') > now()))));

-- by the ORM: INSERT INTO tokens

-- by the ORM: INSERT INTO audit_log
