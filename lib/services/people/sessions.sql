-- a new session
SELECT
FROM users
WHERE id = $1::uuid
FOR SHARE;

SELECT
FROM users u
WHERE u.id = $1::uuid AND u.disabled_at IS NULL
    AND (u.password_changed_at IS NULL OR u.password_changed_at <= $2)
    AND NOT EXISTS (SELECT FROM authenticators f WHERE f.user_id = u.id
    AND f.confirmed_at > $3) AND NOT EXISTS (SELECT FROM passkeys p WHERE p.user_id = u.id
    AND p.created_at > $4);

-- by the ORM: INSERT INTO user_sessions

-- the end of a session
-- by the ORM: UPDATE user_sessions

-- a proof of identity
UPDATE user_sessions
SET proved_at = now()
WHERE id = $1::uuid;
