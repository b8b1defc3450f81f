-- a due refund
WITH RECURSIVE turns AS (
  SELECT (SELECT r.account_id FROM refunds r WHERE r.connection_id = $1::uuid
      AND r.due_at <= now() AND r.account_id > $2::uuid ORDER BY r.account_id LIMIT 1) AS
      account_id, 1 AS nth
  UNION ALL
  SELECT (SELECT r.account_id FROM refunds r WHERE r.connection_id = $3::uuid
      AND r.due_at <= now() AND r.account_id > t.account_id ORDER BY r.account_id LIMIT 1),
      t.nth + 1
  FROM turns t
  WHERE t.account_id IS NOT NULL AND t.nth < $4::int
), picked AS MATERIALIZED (
  SELECT d.*
  FROM turns t
  CROSS JOIN LATERAL (SELECT r.account_id, r.id FROM refunds r WHERE r.connection_id = $5::uuid
      AND r.due_at <= now() AND r.account_id = t.account_id ORDER BY r.due_at,
      r.id LIMIT $6::int / (SELECT GREATEST(count(account_id), 1)
      FROM turns) FOR UPDATE SKIP LOCKED) d
  LIMIT $7::int
)
UPDATE refunds r
SET due_at = now() + make_interval(secs => $8::float8 / 1000), lease = $9::uuid,
    attempts = attempts + 1
FROM picked p
WHERE r.account_id = p.account_id AND r.id = p.id
RETURNING r.account_id AS "accountId", r.id, r.mode, r.connection_id AS "connectionId", r.status,
    r.lease, r.attempts, r.trace;

SELECT EXISTS (SELECT FROM restore_closures c WHERE c.connection_id = $1::uuid
    AND c.opened_at IS NULL) AS "isClosed";

SELECT r.amount, c.end_to_end_id AS "endToEndId", c.client_email AS "payerEmail"
FROM refunds r
JOIN charges c ON c.account_id = r.account_id AND c.id = r.charge_id
WHERE r.account_id = $1::uuid AND r.id = $2::uuid AND r.status = 'pending' AND r.lease = $3::uuid;

SELECT c.client_name AS name, c.client_email AS email, c.client_doc AS doc
FROM refunds r
JOIN charges c ON c.account_id = r.account_id AND c.id = r.charge_id
WHERE r.account_id = $1::uuid AND r.id = $2::uuid;

SELECT max(r.begun_at) AS "begunAt"
FROM restore_closures c
JOIN restores r ON r.id = c.restore_id
WHERE c.connection_id = $1::uuid;

INSERT INTO gateway_calls (account_id, id, mode, gateway, operation, subject_id, request,
    connection_id)
SELECT c.account_id, c.id, c.mode, $1, $2, c.subject_id, c.request::json, $3::uuid
FROM unnest($4::uuid[], $5::uuid[], $6::text[], $7::uuid[], $8::text[]) AS c (account_id, id, mode,
    subject_id, request);

UPDATE refunds
SET due_at = now() + make_interval(secs => $1::float8 / 1000)
WHERE account_id = $2::uuid AND id = $3::uuid AND lease = $4::uuid;

UPDATE gateway_calls g
SET outcome = $1, finished_at = clock_timestamp(), response = c.response::json
FROM unnest($2::uuid[], $3::text[]) AS c (id, response)
WHERE g.id = c.id;

UPDATE refunds
SET due_at = now() + make_interval(secs => $1::float8 / 1000), lease = NULL
WHERE account_id = $2::uuid AND id = $3::uuid AND lease = $4::uuid;
