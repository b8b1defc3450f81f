-- the active sessions of a user
SELECT (SELECT row_to_json(r) FROM (SELECT s.id, s.ip, s.user_agent,
    to_char(s.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at,
    to_char(s.last_used_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS last_used_at,
    s.id = $1::uuid AS is_this) r) ::text AS json
FROM user_sessions s
WHERE s.user_id = $2::uuid AND s.revoked_at IS NULL AND s.expires_at > now()
    AND s.last_used_at > now() - make_interval(hours => $3::int)
ORDER BY s.id = $4::uuid DESC, s.last_used_at DESC, s.id;
