-- what a bank gave notice of
INSERT INTO bank_notices AS n (connection_id, kind, id, due_at)
SELECT $1::uuid, t.kind, t.id, CASE t.kind
    WHEN 'payment' THEN to_timestamp(ceil(extract(epoch FROM now() + interval '2 seconds') /
    $2::float8) * $3::float8) ELSE now() END
FROM unnest($4::text[], $5::text[]) AS t (kind, id)
ORDER BY t.kind, t.id
LIMIT (SELECT GREATEST(0, $6::int - count(*))
    FROM (SELECT FROM bank_notices o WHERE o.connection_id = $7::uuid LIMIT $8) o)
ON CONFLICT (connection_id, kind, id) DO UPDATE
SET due_at = GREATEST(EXCLUDED.due_at, n.asked_at + interval '2 seconds')
WHERE n.due_at > GREATEST(EXCLUDED.due_at, n.asked_at + interval '2 seconds');

-- notices that are due
UPDATE bank_notices n
SET asked_at = now(), attempts = n.attempts + 1, due_at = CASE n.kind
    WHEN 'payment' THEN to_timestamp(ceil(extract(epoch FROM now() + make_interval(secs =>
    ($1::int[])[LEAST(n.attempts + 1, $2::int)])) / $3::float8) * $4::float8)
    ELSE now() + make_interval(secs => ($5::int[])[LEAST(n.attempts + 1, $6::int)]) END
FROM (SELECT connection_id, kind, id
    FROM bank_notices WHERE due_at <= now() ORDER BY due_at LIMIT $7 FOR UPDATE SKIP LOCKED) d
WHERE n.connection_id = d.connection_id AND n.kind = d.kind AND n.id = d.id
RETURNING n.connection_id AS "connectionId", n.kind, n.id, n.attempts;
