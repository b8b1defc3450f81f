-- admins, and those without a second factor
SELECT count(*)::int AS staff, (count(*) FILTER (WHERE NOT (EXISTS (SELECT
    FROM authenticators f WHERE f.user_id = u.id AND f.confirmed_at IS NOT NULL)
    OR EXISTS (SELECT FROM passkeys p WHERE p.user_id = u.id))))::int AS unguarded
FROM users u
WHERE u.is_admin AND u.disabled_at IS NULL;

-- the second factors of a user
SELECT EXISTS (SELECT FROM authenticators f WHERE f.user_id = u.id
    AND f.confirmed_at IS NOT NULL) AS code,
    EXISTS (SELECT FROM passkeys p WHERE p.user_id = u.id) AS passkey
FROM users u
WHERE u.id = $1::uuid;
