-- a weaker rule, which waits for another owner
SELECT name
FROM accounts
WHERE id = $1::uuid
FOR NO KEY UPDATE;

-- by the ORM: SELECT FROM memberships

SELECT (SELECT row_to_json(r) FROM (SELECT m.user_id AS id, m.role, u.email, u.locale,
    ARRAY[m.user_id, COALESCE(m.role_by, m.user_id)] || m.role_via AS ids,
    COALESCE(m.role_at, m.created_at)::text AS since) r)::text AS json
FROM memberships m
JOIN users u ON u.id = m.user_id
WHERE m.account_id = $1::uuid AND m.role IN ('owner', 'finance') AND u.disabled_at IS NULL;

SELECT a.approval_new_keys AS new_keys, a.approval_above AS above,
    a.approval_day_above AS day_above,
    (COALESCE(a.approval_kept_until > now(), false)
    OR 2 <= (SELECT count(DISTINCT CASE
    WHEN COALESCE(m.since > GREATEST(now() - interval '24 hours',
    a.created_at + interval '24 hours'), true) THEN m.ids[2] ELSE m.id END)
    FROM jsonb_to_recordset($1::jsonb) AS m (id uuid, ids uuid[],
    since timestamptz))) AS "isInForce"
FROM accounts a
WHERE a.id = $2::uuid;

-- by the ORM: DELETE FROM approval_changes

SELECT (SELECT row_to_json(r) FROM (SELECT w.id, COALESCE(m.ids, f.vouchers, ARRAY[w.id]) AS ids,
    m.since) r)::text AS json
FROM unnest($1::uuid[]) AS w (id)
LEFT JOIN (SELECT m.user_id, ARRAY[m.user_id, COALESCE(m.role_by, m.user_id)] || m.role_via AS ids,
    COALESCE(m.role_at, m.created_at)::text AS since
    FROM memberships m WHERE m.account_id = $2::uuid) m ON m.user_id = w.id
LEFT JOIN former_members f ON f.account_id = $3::uuid AND f.user_id = w.id;

INSERT INTO approval_changes (account_id, id, new_keys, above, day_above, requested_by, barred,
    expires_at)
SELECT a.id, $1::uuid, $2, $3::bigint, $4::bigint, $5::uuid,
    COALESCE((SELECT array_agg(DISTINCT v.id)
    FROM jsonb_to_recordset($6::jsonb) AS m (id uuid, ids uuid[],
    since timestamptz) CROSS JOIN unnest(CASE
    WHEN COALESCE(m.since > GREATEST(now() - interval '24 hours',
    a.created_at + interval '24 hours'), true) THEN m.ids ELSE ARRAY[m.id] END) AS v (id)), '{}'),
    now() + $7 * interval '1 hour'
FROM accounts a
WHERE a.id = $8::uuid;

-- by the ORM: INSERT INTO audit_log

-- by the ORM: SELECT FROM users

-- by the ORM: SELECT FROM memberships

-- by the ORM: SELECT FROM users

-- by the ORM: SELECT FROM accounts

-- by the ORM: INSERT INTO mails
