-- a due withdrawal
WITH RECURSIVE turns AS (
  SELECT (SELECT r.account_id FROM withdrawals r WHERE r.connection_id = $1::uuid
      AND r.due_at <= now() AND r.account_id > $2::uuid ORDER BY r.account_id LIMIT 1) AS
      account_id, 1 AS nth
  UNION ALL
  SELECT (SELECT r.account_id FROM withdrawals r WHERE r.connection_id = $3::uuid
      AND r.due_at <= now() AND r.account_id > t.account_id ORDER BY r.account_id LIMIT 1),
      t.nth + 1
  FROM turns t
  WHERE t.account_id IS NOT NULL AND t.nth < $4::int
), picked AS MATERIALIZED (
  SELECT d.*
  FROM turns t
  CROSS JOIN LATERAL (SELECT r.account_id, r.id
      FROM withdrawals r WHERE r.connection_id = $5::uuid AND r.due_at <= now()
      AND r.account_id = t.account_id ORDER BY r.due_at,
      r.id LIMIT $6::int / (SELECT GREATEST(count(account_id), 1)
      FROM turns) FOR UPDATE SKIP LOCKED) d
  LIMIT $7::int
)
UPDATE withdrawals r
SET due_at = now() + make_interval(secs => $8::float8 / 1000), lease = $9::uuid,
    attempts = attempts + 1
FROM picked p
WHERE r.account_id = p.account_id AND r.id = p.id
RETURNING r.account_id AS "accountId", r.id, r.mode, r.connection_id AS "connectionId", r.status,
    r.lease, r.attempts;

SELECT dict_key AS "dictKey", owner_doc AS "ownerDoc", payee_name AS "payeeName"
FROM withdrawals
WHERE account_id = $1::uuid AND id = $2::uuid;

SELECT w.amount, w.dict_key AS "dictKey", w.owner_doc AS "ownerDoc",
    a.status = 'active' AS "mayBeSent"
FROM withdrawals w
JOIN accounts a ON a.id = w.account_id
WHERE w.account_id = $1::uuid AND w.id = $2::uuid AND w.status = 'pending' AND w.lease = $3::uuid;

INSERT INTO gateway_calls (account_id, id, mode, gateway, operation, subject_id, request,
    connection_id)
SELECT c.account_id, c.id, c.mode, $1, $2, c.subject_id, c.request::json, $3::uuid
FROM unnest($4::uuid[], $5::uuid[], $6::text[], $7::uuid[], $8::text[]) AS c (account_id, id, mode,
    subject_id, request);

UPDATE withdrawals
SET due_at = now() + make_interval(secs => $1::float8 / 1000)
WHERE account_id = $2::uuid AND id = $3::uuid AND lease = $4::uuid;

UPDATE gateway_calls g
SET outcome = $1, finished_at = clock_timestamp(), response = c.response::json
FROM unnest($2::uuid[], $3::text[]) AS c (id, response)
WHERE g.id = c.id;

UPDATE withdrawals
SET due_at = now() + make_interval(secs => $1::float8 / 1000), lease = NULL
WHERE account_id = $2::uuid AND id = $3::uuid AND lease = $4::uuid;

-- a due withdrawal whose end-to-end id the bank names at once
WITH RECURSIVE turns AS (
  SELECT (SELECT r.account_id FROM withdrawals r WHERE r.connection_id = $1::uuid
      AND r.due_at <= now() AND r.account_id > $2::uuid ORDER BY r.account_id LIMIT 1) AS
      account_id, 1 AS nth
  UNION ALL
  SELECT (SELECT r.account_id FROM withdrawals r WHERE r.connection_id = $3::uuid
      AND r.due_at <= now() AND r.account_id > t.account_id ORDER BY r.account_id LIMIT 1),
      t.nth + 1
  FROM turns t
  WHERE t.account_id IS NOT NULL AND t.nth < $4::int
), picked AS MATERIALIZED (
  SELECT d.*
  FROM turns t
  CROSS JOIN LATERAL (SELECT r.account_id, r.id
      FROM withdrawals r WHERE r.connection_id = $5::uuid AND r.due_at <= now()
      AND r.account_id = t.account_id ORDER BY r.due_at,
      r.id LIMIT $6::int / (SELECT GREATEST(count(account_id), 1)
      FROM turns) FOR UPDATE SKIP LOCKED) d
  LIMIT $7::int
)
UPDATE withdrawals r
SET due_at = now() + make_interval(secs => $8::float8 / 1000), lease = $9::uuid,
    attempts = attempts + 1
FROM picked p
WHERE r.account_id = p.account_id AND r.id = p.id
RETURNING r.account_id AS "accountId", r.id, r.mode, r.connection_id AS "connectionId", r.status,
    r.lease, r.attempts;

SELECT dict_key AS "dictKey", owner_doc AS "ownerDoc", payee_name AS "payeeName"
FROM withdrawals
WHERE account_id = $1::uuid AND id = $2::uuid;

SELECT w.amount, w.dict_key AS "dictKey", w.owner_doc AS "ownerDoc",
    a.status = 'active' AS "mayBeSent"
FROM withdrawals w
JOIN accounts a ON a.id = w.account_id
WHERE w.account_id = $1::uuid AND w.id = $2::uuid AND w.status = 'pending' AND w.lease = $3::uuid;

INSERT INTO gateway_calls (account_id, id, mode, gateway, operation, subject_id, request,
    connection_id)
SELECT c.account_id, c.id, c.mode, $1, $2, c.subject_id, c.request::json, $3::uuid
FROM unnest($4::uuid[], $5::uuid[], $6::text[], $7::uuid[], $8::text[]) AS c (account_id, id, mode,
    subject_id, request);

UPDATE withdrawals
SET due_at = now() + make_interval(secs => $1::float8 / 1000)
WHERE account_id = $2::uuid AND id = $3::uuid AND lease = $4::uuid;

UPDATE gateway_calls g
SET outcome = $1, finished_at = clock_timestamp(), response = c.response::json
FROM unnest($2::uuid[], $3::text[]) AS c (id, response)
WHERE g.id = c.id;

UPDATE withdrawals w
SET end_to_end_id = COALESCE(w.end_to_end_id, $1), other_end_to_end_id = CASE
    WHEN w.end_to_end_id <> $2 THEN $3 ELSE w.other_end_to_end_id END,
    payee_name = COALESCE($4, w.payee_name), payee_doc = COALESCE($5, w.payee_doc),
    payee_bank = COALESCE($6, w.payee_bank), updated_at = now()
WHERE account_id = $7::uuid AND id = $8::uuid AND status = 'pending' AND lease = $9::uuid
    AND (w.end_to_end_id IS NULL AND $10::text IS NOT NULL OR w.end_to_end_id <> $11
    AND w.other_end_to_end_id IS DISTINCT FROM $12 OR w.payee_name IS NULL
    AND $13::text IS NOT NULL)
RETURNING end_to_end_id AS "endToEndId";

UPDATE withdrawals
SET due_at = now() + make_interval(secs => $1::float8 / 1000), lease = NULL
WHERE account_id = $2::uuid AND id = $3::uuid AND lease = $4::uuid;

-- a due withdrawal of a suspended account
WITH RECURSIVE turns AS (
  SELECT (SELECT r.account_id FROM withdrawals r WHERE r.connection_id = $1::uuid
      AND r.due_at <= now() AND r.account_id > $2::uuid ORDER BY r.account_id LIMIT 1) AS
      account_id, 1 AS nth
  UNION ALL
  SELECT (SELECT r.account_id FROM withdrawals r WHERE r.connection_id = $3::uuid
      AND r.due_at <= now() AND r.account_id > t.account_id ORDER BY r.account_id LIMIT 1),
      t.nth + 1
  FROM turns t
  WHERE t.account_id IS NOT NULL AND t.nth < $4::int
), picked AS MATERIALIZED (
  SELECT d.*
  FROM turns t
  CROSS JOIN LATERAL (SELECT r.account_id, r.id
      FROM withdrawals r WHERE r.connection_id = $5::uuid AND r.due_at <= now()
      AND r.account_id = t.account_id ORDER BY r.due_at,
      r.id LIMIT $6::int / (SELECT GREATEST(count(account_id), 1)
      FROM turns) FOR UPDATE SKIP LOCKED) d
  LIMIT $7::int
)
UPDATE withdrawals r
SET due_at = now() + make_interval(secs => $8::float8 / 1000), lease = $9::uuid,
    attempts = attempts + 1
FROM picked p
WHERE r.account_id = p.account_id AND r.id = p.id
RETURNING r.account_id AS "accountId", r.id, r.mode, r.connection_id AS "connectionId", r.status,
    r.lease, r.attempts;

SELECT dict_key AS "dictKey", owner_doc AS "ownerDoc", payee_name AS "payeeName"
FROM withdrawals
WHERE account_id = $1::uuid AND id = $2::uuid;

SELECT w.amount, w.dict_key AS "dictKey", w.owner_doc AS "ownerDoc",
    a.status = 'active' AS "mayBeSent"
FROM withdrawals w
JOIN accounts a ON a.id = w.account_id
WHERE w.account_id = $1::uuid AND w.id = $2::uuid AND w.status = 'pending' AND w.lease = $3::uuid;

UPDATE withdrawals
SET due_at = now() + make_interval(secs => $1::int), lease = NULL, attempts = attempts - 1
WHERE account_id = $2::uuid AND id = $3::uuid AND lease = $4::uuid;

UPDATE withdrawals
SET due_at = now() + make_interval(secs => $1::float8 / 1000), lease = NULL
WHERE account_id = $2::uuid AND id = $3::uuid AND lease = $4::uuid;
