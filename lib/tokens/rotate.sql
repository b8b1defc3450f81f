-- a token, with an Idempotency-Key
SELECT a.id
FROM accounts a
WHERE a.id = $1::uuid
FOR NO KEY UPDATE;

SELECT t.name, t.permissions, t.allowed_addresses AS "allowedAddresses",
    t.replaced_by AS "replacedBy", t.expires_at AS "expiresAt",
    ((t.revoked_at IS NULL AND COALESCE(t.expires_at, 'infinity') > now())
    AND (t.parent_id IS NULL OR EXISTS (SELECT 1
    FROM tokens p WHERE p.account_id = t.account_id AND p.id = t.parent_id
    AND (p.revoked_at IS NULL AND COALESCE(p.expires_at, 'infinity') > now())))) AS "isActive",
    t.issued_by AS "issuedBy", t.former_issuers AS "formerIssuers", t.parent_id AS "parentId",
    LEAST(now() + (t.expires_at - t.created_at),
    (SELECT p.expires_at FROM tokens p WHERE p.account_id = t.account_id
    AND p.id = t.parent_id)) AS "nextExpiry"
FROM tokens t
WHERE t.account_id = $1::uuid AND t.mode = $2 AND t.id = $3::uuid
FOR UPDATE;

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

UPDATE tokens t
SET replaced_by = CASE WHEN t.id = $1::uuid THEN $2::uuid ELSE t.replaced_by END,
    parent_id = CASE WHEN t.id = $3::uuid THEN t.parent_id ELSE $4::uuid END,
    expires_at = CASE WHEN t.id = $5::uuid THEN LEAST(t.expires_at,
    now() + make_interval(hours => $6::int)) ELSE t.expires_at END
WHERE t.account_id = $7::uuid AND (t.revoked_at IS NULL
    AND COALESCE(t.expires_at, 'infinity') > now()) AND (t.id = $8::uuid OR t.parent_id = $9::uuid)
RETURNING t.id, t.expires_at AS "expiresAt";
