-- a due refund
UPDATE refunds
SET due_at = now() + make_interval(secs => $1::float8 / 1000), lease = $2::uuid,
    attempts = attempts + 1
WHERE due_at <= now() AND (account_id, id) IN (SELECT r.account_id, r.id
    FROM refunds r JOIN (SELECT account_id, id, due_at,
    row_number() OVER (PARTITION BY account_id ORDER BY id) AS nth
    FROM refunds WHERE due_at <= now() AND mode = $3) d USING (account_id, id) ORDER BY d.nth,
    array_position($4::uuid[], r.account_id) NULLS FIRST,
    d.due_at LIMIT $5 FOR UPDATE OF r SKIP LOCKED)
RETURNING account_id AS "accountId", id, mode, status, lease, attempts;

UPDATE refunds
SET due_at = now() + make_interval(secs => $1::float8 / 1000), lease = $2::uuid,
    attempts = attempts + 1
WHERE due_at <= now() AND (account_id, id) IN (SELECT r.account_id, r.id
    FROM refunds r JOIN (SELECT account_id, id, due_at,
    row_number() OVER (PARTITION BY account_id ORDER BY id) AS nth
    FROM refunds WHERE due_at <= now() AND mode = $3) d USING (account_id, id) ORDER BY d.nth,
    array_position($4::uuid[], r.account_id) NULLS FIRST,
    d.due_at LIMIT $5 FOR UPDATE OF r SKIP LOCKED)
RETURNING account_id AS "accountId", id, mode, status, lease, attempts;

UPDATE refunds r
SET due_at = now() + make_interval(secs => $1::float8 / 1000)
FROM charges c
WHERE r.account_id = $2::uuid AND r.id = $3::uuid AND r.status = 'pending'
    AND r.lease = $4::uuid AND c.account_id = r.account_id AND c.id = r.charge_id
RETURNING r.amount, c.end_to_end_id AS "endToEndId";

INSERT INTO gateway_calls (account_id, id, mode, gateway, operation, subject_id, request)
SELECT c.account_id, c.id, c.mode, $1, $2, c.subject_id, c.request::json
FROM unnest($3::uuid[], $4::uuid[], $5::text[], $6::uuid[], $7::text[]) AS c (account_id, id, mode,
    subject_id, request);

UPDATE gateway_calls g
SET outcome = $1, finished_at = clock_timestamp(), response = c.response::json
FROM unnest($2::uuid[], $3::uuid[], $4::text[]) AS c (account_id, id, response)
WHERE g.account_id = c.account_id AND g.id = c.id;

UPDATE refunds
SET due_at = now() + make_interval(secs => $1::float8 / 1000), lease = NULL
WHERE account_id = $2::uuid AND id = $3::uuid AND lease = $4::uuid;
