-- a new session
SELECT
FROM users
WHERE id = $1::uuid
FOR NO KEY UPDATE;

SELECT
FROM users u
WHERE u.id = $1::uuid AND u.disabled_at IS NULL AND (u.oidc_subject IS NOT NULL OR NOT $2)
    AND (u.password_changed_at IS NULL OR u.password_changed_at <= $3)
    AND NOT EXISTS (SELECT FROM authenticators f WHERE f.user_id = u.id
    AND f.confirmed_at > $4) AND NOT EXISTS (SELECT FROM passkeys p WHERE p.user_id = u.id
    AND p.created_at > $5);

UPDATE user_sessions
SET revoked_at = now()
WHERE id IN (SELECT s.id FROM user_sessions s WHERE s.user_id = $1::uuid
    AND s.revoked_at IS NULL AND s.expires_at > now()
    AND s.last_used_at > now() - make_interval(hours => $2::int) ORDER BY s.last_used_at DESC,
    s.id DESC OFFSET $3::int);

-- by the ORM: INSERT INTO user_sessions

-- the end of a session
-- by the ORM: UPDATE user_sessions

-- a proof of identity
UPDATE user_sessions
SET proved_at = now()
WHERE id = $1::uuid;
