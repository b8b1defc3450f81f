-- a token, with an Idempotency-Key
SELECT a.id
FROM accounts a
WHERE a.id = $1::uuid
FOR NO KEY UPDATE;

SELECT t.name, t.permissions, t.allowed_addresses AS "allowedAddresses",
    t.replaced_by AS "replacedBy",
    (t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())) AS "isActive",
    t.issued_by AS "issuedBy", now() + (t.expires_at - t.created_at) AS "nextExpiry"
FROM tokens t
WHERE t.account_id = $1::uuid AND t.mode = $2 AND t.id = $3::uuid
FOR UPDATE;

INSERT INTO idempotency_keys (account_id, mode, path, key, request_hash, resource_id, locked_until,
    expires_at)
VALUES ($1::uuid, $2, $3, $4, $5, $6::uuid, NULL, now() + make_interval(secs => $7::float8));

-- by the ORM: INSERT INTO tokens

-- by the ORM: INSERT INTO audit_log

UPDATE tokens
SET replaced_by = $1::uuid, expires_at = LEAST(expires_at, now() + make_interval(hours => $2::int))
WHERE account_id = $3::uuid AND id = $4::uuid
RETURNING expires_at AS "expiresAt";
