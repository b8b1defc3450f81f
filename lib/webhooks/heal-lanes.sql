-- a lane that was lost
WITH RECURSIVE receivers AS ((SELECT d.account_id, d.host, d.due_at, 1 AS nth
    FROM deliveries d WHERE d.due_at IS NOT NULL
    AND (d.account_id, d.host) > ($1::uuid, $2::text) ORDER BY d.account_id, d.host,
    d.due_at LIMIT 1) UNION ALL SELECT n.account_id, n.host, n.due_at, r.nth + 1
    FROM receivers r CROSS JOIN LATERAL (SELECT d.account_id, d.host, d.due_at
    FROM deliveries d WHERE d.due_at IS NOT NULL
    AND (d.account_id, d.host) > (r.account_id, r.host) ORDER BY d.account_id, d.host,
    d.due_at LIMIT 1) n WHERE r.nth < $3)
SELECT json_build_object('account_id', r.account_id, 'host', r.host, 'due_at', r.due_at, 'is_lost',
    l.host IS NULL OR a.account_id IS NULL OR r.due_at < now() - interval '10 seconds'
    AND greatest(l.due_at, a.due_at) > now() AND NOT (l.is_full OR a.is_full))::text AS json
FROM receivers r
LEFT JOIN delivery_lanes l ON l.account_id = r.account_id AND l.host = r.host
LEFT JOIN delivery_accounts a ON a.account_id = r.account_id
ORDER BY r.nth;

INSERT INTO delivery_lanes AS l (account_id, host, due_at)
SELECT t.account_id, t.host, t.due_at
FROM unnest($1::uuid[], $2::text[], $3::timestamptz[]) AS t (account_id, host, due_at)
ORDER BY t.account_id, t.host
ON CONFLICT (account_id, host) DO UPDATE
SET due_at = EXCLUDED.due_at, is_full = false
WHERE l.due_at > EXCLUDED.due_at;

INSERT INTO delivery_accounts AS a (account_id, due_at)
SELECT t.account_id, min(t.due_at)
FROM unnest($1::uuid[], $2::text[], $3::timestamptz[]) AS t (account_id, host, due_at)
GROUP BY t.account_id
ORDER BY t.account_id
ON CONFLICT (account_id) DO UPDATE
SET due_at = EXCLUDED.due_at, is_full = false
WHERE a.due_at > EXCLUDED.due_at;
