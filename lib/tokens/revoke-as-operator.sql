-- the active tokens of an account
SELECT a.id
FROM accounts a
WHERE a.id = $1::uuid
FOR NO KEY UPDATE;

UPDATE tokens t
SET revoked_at = now(), revoked_reason = $1::text, revoked_by = $2::uuid
WHERE t.account_id = $3::uuid AND t.revoked_at IS NULL
    AND ((t.revoked_at IS NULL AND COALESCE(t.expires_at, 'infinity') > now())
    AND (t.parent_id IS NULL OR EXISTS (SELECT 1
    FROM tokens p WHERE p.account_id = t.account_id AND p.id = t.parent_id
    AND (p.revoked_at IS NULL AND COALESCE(p.expires_at, 'infinity') > now()))))
RETURNING t.id, t.name, t.prefix, t.last_four AS "lastFour", t.mode, t.parent_id AS "parentId";

-- by the ORM: INSERT INTO audit_log

-- by the ORM: SELECT FROM memberships

-- by the ORM: SELECT FROM users

-- by the ORM: SELECT FROM accounts

-- by the ORM: INSERT INTO mails
