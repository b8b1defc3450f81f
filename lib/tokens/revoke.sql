-- a token
-- by the ORM: SELECT FROM tokens

SELECT a.id
FROM accounts a
WHERE a.id = $1::uuid
FOR NO KEY UPDATE;

UPDATE tokens t
SET revoked_at = now(), revoked_reason = $1::text, revoked_by = $2::uuid
WHERE t.account_id = $3::uuid AND t.revoked_at IS NULL
    AND (t.id = $4::uuid OR t.parent_id = $5::uuid
    AND (t.revoked_at IS NULL AND COALESCE(t.expires_at, 'infinity') > now()))
RETURNING t.id, t.name, t.prefix, t.last_four AS "lastFour", t.mode, t.parent_id AS "parentId";

-- by the ORM: INSERT INTO audit_log
