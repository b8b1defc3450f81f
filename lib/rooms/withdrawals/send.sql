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
    r.lease, r.attempts, r.trace;

WITH RECURSIVE turns AS (
  SELECT (SELECT r.account_id FROM withdrawals r WHERE r.connection_id = $1::uuid
      AND r.due_at <= now() AND r.place_until IS NOT NULL
      AND r.account_id > $2::uuid ORDER BY r.account_id LIMIT 1) AS account_id, 1 AS nth
  UNION ALL
  SELECT (SELECT r.account_id FROM withdrawals r WHERE r.connection_id = $3::uuid
      AND r.due_at <= now() AND r.place_until IS NOT NULL
      AND r.account_id > t.account_id ORDER BY r.account_id LIMIT 1), t.nth + 1
  FROM turns t
  WHERE t.account_id IS NOT NULL AND t.nth < $4::int
), picked AS MATERIALIZED (
  SELECT d.*
  FROM turns t
  CROSS JOIN LATERAL (SELECT r.account_id, r.id
      FROM withdrawals r WHERE r.connection_id = $5::uuid AND r.due_at <= now()
      AND r.place_until IS NOT NULL AND r.account_id = t.account_id ORDER BY r.due_at,
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
    r.lease, r.attempts, r.trace;

SELECT EXISTS (SELECT FROM restore_closures c WHERE c.connection_id = $1::uuid
    AND c.opened_at IS NULL) AS "isClosed";

SELECT EXISTS (SELECT FROM withdrawals r WHERE r.connection_id = $1::uuid AND r.due_at <= now()
    AND r.place_until IS NULL) AND ((SELECT count(*)::int
    FROM withdrawals r WHERE r.connection_id = $2::uuid AND r.due_at IS NOT NULL
    AND r.place_until > clock_timestamp()) + (SELECT count(*)::int
    FROM bank_tries y WHERE y.connection_id = $3::uuid AND y.ended_at IS NULL
    AND y.place_until > clock_timestamp())) < $4::int
    AND NOT EXISTS (SELECT FROM payout_queues q WHERE q.connection_id = $5::uuid
    AND q.paused_until > now()) AS "mayStart";

INSERT INTO payout_queues (connection_id)
VALUES ($1::uuid)
ON CONFLICT (connection_id) DO NOTHING;

SELECT
FROM payout_queues
WHERE connection_id = $1::uuid
FOR UPDATE;

SELECT COALESCE(last_served, $1::uuid) AS "lastServed", buckets,
    COALESCE(paused_until > clock_timestamp(), false) AS "isPaused",
    ((SELECT count(*)::int FROM withdrawals r WHERE r.connection_id = $2::uuid
    AND r.due_at IS NOT NULL AND r.place_until > clock_timestamp()) + (SELECT count(*)::int
    FROM bank_tries y WHERE y.connection_id = $3::uuid AND y.ended_at IS NULL
    AND y.place_until > clock_timestamp())) AS "inFlight",
    (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
FROM payout_queues
WHERE connection_id = $4::uuid;

WITH picked AS MATERIALIZED (
  SELECT r.account_id, r.id
  FROM withdrawals r
  WHERE r.connection_id = $1::uuid AND r.due_at <= now() AND r.place_until IS NULL
      AND r.pix_key_type = ANY($2)
      AND r.account_id = COALESCE((SELECT r.account_id
      FROM withdrawals r WHERE r.connection_id = $3::uuid AND r.due_at <= now()
      AND r.place_until IS NULL AND r.pix_key_type = ANY($4)
      AND r.account_id > $5::uuid ORDER BY r.account_id LIMIT 1),
      (SELECT r.account_id FROM withdrawals r WHERE r.connection_id = $6::uuid
      AND r.due_at <= now() AND r.place_until IS NULL
      AND r.pix_key_type = ANY($7) ORDER BY r.account_id LIMIT 1))
  ORDER BY r.id
  LIMIT 1
  FOR UPDATE SKIP LOCKED
)
UPDATE withdrawals r
SET due_at = now() + make_interval(secs => $8::float8 / 1000), lease = $9::uuid,
    attempts = attempts + 1, place_until = clock_timestamp() + $10 * interval '1 millisecond'
FROM picked p
WHERE r.account_id = p.account_id AND r.id = p.id
RETURNING r.account_id AS "accountId", r.id, r.mode, r.connection_id AS "connectionId", r.status,
    r.lease, r.attempts, r.trace, r.pix_key_type AS "keyType";

UPDATE payout_queues
SET last_served = $1::uuid, buckets = $2::jsonb
WHERE connection_id = $3::uuid;

SELECT dict_key AS "dictKey", owner_doc AS "ownerDoc", payee_name AS "payeeName"
FROM withdrawals
WHERE account_id = $1::uuid AND id = $2::uuid;

SELECT max(r.begun_at) AS "begunAt"
FROM restore_closures c
JOIN restores r ON r.id = c.restore_id
WHERE c.connection_id = $1::uuid;

SELECT w.amount, w.dict_key AS "dictKey", w.owner_doc AS "ownerDoc",
    a.status = 'active' AS "isActive",
    COALESCE(w.end_proposed_at > now() - $1 * interval '1 hour', false) AS "isEndProposed"
FROM withdrawals w
JOIN accounts a ON a.id = w.account_id
WHERE w.account_id = $2::uuid AND w.id = $3::uuid AND w.status = 'pending' AND w.lease = $4::uuid;

INSERT INTO gateway_calls (account_id, id, mode, gateway, operation, subject_id, request,
    connection_id)
SELECT c.account_id, c.id, c.mode, $1, $2, c.subject_id, c.request::json, $3::uuid
FROM unnest($4::uuid[], $5::uuid[], $6::text[], $7::uuid[], $8::text[]) AS c (account_id, id, mode,
    subject_id, request);

WITH queue AS MATERIALIZED (
  SELECT connection_id
  FROM payout_queues
  WHERE connection_id = $1::uuid
  FOR UPDATE
)
UPDATE withdrawals
SET due_at = now() + make_interval(secs => $2::float8 / 1000), sent_at = COALESCE(sent_at, now()),
    place_until = clock_timestamp() + $3 * interval '1 millisecond'
WHERE account_id = $4::uuid AND id = $5::uuid AND lease = $6::uuid
    AND place_until > (SELECT clock_timestamp() FROM queue);

UPDATE gateway_calls g
SET outcome = $1, finished_at = clock_timestamp(), response = c.response::json
FROM unnest($2::uuid[], $3::text[]) AS c (id, response)
WHERE g.id = c.id;

UPDATE withdrawals
SET lease = NULL, due_at = now() + make_interval(secs => GREATEST($1::float8,
    LEAST(600, GREATEST(1, LEAST(5, (extract(epoch FROM now() - place_until) + $2::float8)),
    (extract(epoch FROM now() - place_until) + $3::float8) / 6))))
WHERE account_id = $4::uuid AND id = $5::uuid AND lease = $6::uuid;

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
    r.lease, r.attempts, r.trace;

WITH RECURSIVE turns AS (
  SELECT (SELECT r.account_id FROM withdrawals r WHERE r.connection_id = $1::uuid
      AND r.due_at <= now() AND r.place_until IS NOT NULL
      AND r.account_id > $2::uuid ORDER BY r.account_id LIMIT 1) AS account_id, 1 AS nth
  UNION ALL
  SELECT (SELECT r.account_id FROM withdrawals r WHERE r.connection_id = $3::uuid
      AND r.due_at <= now() AND r.place_until IS NOT NULL
      AND r.account_id > t.account_id ORDER BY r.account_id LIMIT 1), t.nth + 1
  FROM turns t
  WHERE t.account_id IS NOT NULL AND t.nth < $4::int
), picked AS MATERIALIZED (
  SELECT d.*
  FROM turns t
  CROSS JOIN LATERAL (SELECT r.account_id, r.id
      FROM withdrawals r WHERE r.connection_id = $5::uuid AND r.due_at <= now()
      AND r.place_until IS NOT NULL AND r.account_id = t.account_id ORDER BY r.due_at,
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
    r.lease, r.attempts, r.trace;

SELECT EXISTS (SELECT FROM restore_closures c WHERE c.connection_id = $1::uuid
    AND c.opened_at IS NULL) AS "isClosed";

SELECT EXISTS (SELECT FROM withdrawals r WHERE r.connection_id = $1::uuid AND r.due_at <= now()
    AND r.place_until IS NULL) AND ((SELECT count(*)::int
    FROM withdrawals r WHERE r.connection_id = $2::uuid AND r.due_at IS NOT NULL
    AND r.place_until > clock_timestamp()) + (SELECT count(*)::int
    FROM bank_tries y WHERE y.connection_id = $3::uuid AND y.ended_at IS NULL
    AND y.place_until > clock_timestamp())) < $4::int
    AND NOT EXISTS (SELECT FROM payout_queues q WHERE q.connection_id = $5::uuid
    AND q.paused_until > now()) AS "mayStart";

INSERT INTO payout_queues (connection_id)
VALUES ($1::uuid)
ON CONFLICT (connection_id) DO NOTHING;

SELECT
FROM payout_queues
WHERE connection_id = $1::uuid
FOR UPDATE;

SELECT COALESCE(last_served, $1::uuid) AS "lastServed", buckets,
    COALESCE(paused_until > clock_timestamp(), false) AS "isPaused",
    ((SELECT count(*)::int FROM withdrawals r WHERE r.connection_id = $2::uuid
    AND r.due_at IS NOT NULL AND r.place_until > clock_timestamp()) + (SELECT count(*)::int
    FROM bank_tries y WHERE y.connection_id = $3::uuid AND y.ended_at IS NULL
    AND y.place_until > clock_timestamp())) AS "inFlight",
    (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
FROM payout_queues
WHERE connection_id = $4::uuid;

WITH picked AS MATERIALIZED (
  SELECT r.account_id, r.id
  FROM withdrawals r
  WHERE r.connection_id = $1::uuid AND r.due_at <= now() AND r.place_until IS NULL
      AND r.pix_key_type = ANY($2)
      AND r.account_id = COALESCE((SELECT r.account_id
      FROM withdrawals r WHERE r.connection_id = $3::uuid AND r.due_at <= now()
      AND r.place_until IS NULL AND r.pix_key_type = ANY($4)
      AND r.account_id > $5::uuid ORDER BY r.account_id LIMIT 1),
      (SELECT r.account_id FROM withdrawals r WHERE r.connection_id = $6::uuid
      AND r.due_at <= now() AND r.place_until IS NULL
      AND r.pix_key_type = ANY($7) ORDER BY r.account_id LIMIT 1))
  ORDER BY r.id
  LIMIT 1
  FOR UPDATE SKIP LOCKED
)
UPDATE withdrawals r
SET due_at = now() + make_interval(secs => $8::float8 / 1000), lease = $9::uuid,
    attempts = attempts + 1, place_until = clock_timestamp() + $10 * interval '1 millisecond'
FROM picked p
WHERE r.account_id = p.account_id AND r.id = p.id
RETURNING r.account_id AS "accountId", r.id, r.mode, r.connection_id AS "connectionId", r.status,
    r.lease, r.attempts, r.trace, r.pix_key_type AS "keyType";

UPDATE payout_queues
SET last_served = $1::uuid, buckets = $2::jsonb
WHERE connection_id = $3::uuid;

SELECT dict_key AS "dictKey", owner_doc AS "ownerDoc", payee_name AS "payeeName"
FROM withdrawals
WHERE account_id = $1::uuid AND id = $2::uuid;

SELECT max(r.begun_at) AS "begunAt"
FROM restore_closures c
JOIN restores r ON r.id = c.restore_id
WHERE c.connection_id = $1::uuid;

SELECT w.amount, w.dict_key AS "dictKey", w.owner_doc AS "ownerDoc",
    a.status = 'active' AS "isActive",
    COALESCE(w.end_proposed_at > now() - $1 * interval '1 hour', false) AS "isEndProposed"
FROM withdrawals w
JOIN accounts a ON a.id = w.account_id
WHERE w.account_id = $2::uuid AND w.id = $3::uuid AND w.status = 'pending' AND w.lease = $4::uuid;

INSERT INTO gateway_calls (account_id, id, mode, gateway, operation, subject_id, request,
    connection_id)
SELECT c.account_id, c.id, c.mode, $1, $2, c.subject_id, c.request::json, $3::uuid
FROM unnest($4::uuid[], $5::uuid[], $6::text[], $7::uuid[], $8::text[]) AS c (account_id, id, mode,
    subject_id, request);

WITH queue AS MATERIALIZED (
  SELECT connection_id
  FROM payout_queues
  WHERE connection_id = $1::uuid
  FOR UPDATE
)
UPDATE withdrawals
SET due_at = now() + make_interval(secs => $2::float8 / 1000), sent_at = COALESCE(sent_at, now()),
    place_until = clock_timestamp() + $3 * interval '1 millisecond'
WHERE account_id = $4::uuid AND id = $5::uuid AND lease = $6::uuid
    AND place_until > (SELECT clock_timestamp() FROM queue);

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
SET lease = NULL, due_at = now() + make_interval(secs => GREATEST($1::float8,
    LEAST(600, GREATEST(1, LEAST(5, (extract(epoch FROM now() - place_until) + $2::float8)),
    (extract(epoch FROM now() - place_until) + $3::float8) / 6))))
WHERE account_id = $4::uuid AND id = $5::uuid AND lease = $6::uuid;

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
    r.lease, r.attempts, r.trace;

WITH RECURSIVE turns AS (
  SELECT (SELECT r.account_id FROM withdrawals r WHERE r.connection_id = $1::uuid
      AND r.due_at <= now() AND r.place_until IS NOT NULL
      AND r.account_id > $2::uuid ORDER BY r.account_id LIMIT 1) AS account_id, 1 AS nth
  UNION ALL
  SELECT (SELECT r.account_id FROM withdrawals r WHERE r.connection_id = $3::uuid
      AND r.due_at <= now() AND r.place_until IS NOT NULL
      AND r.account_id > t.account_id ORDER BY r.account_id LIMIT 1), t.nth + 1
  FROM turns t
  WHERE t.account_id IS NOT NULL AND t.nth < $4::int
), picked AS MATERIALIZED (
  SELECT d.*
  FROM turns t
  CROSS JOIN LATERAL (SELECT r.account_id, r.id
      FROM withdrawals r WHERE r.connection_id = $5::uuid AND r.due_at <= now()
      AND r.place_until IS NOT NULL AND r.account_id = t.account_id ORDER BY r.due_at,
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
    r.lease, r.attempts, r.trace;

SELECT EXISTS (SELECT FROM restore_closures c WHERE c.connection_id = $1::uuid
    AND c.opened_at IS NULL) AS "isClosed";

SELECT EXISTS (SELECT FROM withdrawals r WHERE r.connection_id = $1::uuid AND r.due_at <= now()
    AND r.place_until IS NULL) AND ((SELECT count(*)::int
    FROM withdrawals r WHERE r.connection_id = $2::uuid AND r.due_at IS NOT NULL
    AND r.place_until > clock_timestamp()) + (SELECT count(*)::int
    FROM bank_tries y WHERE y.connection_id = $3::uuid AND y.ended_at IS NULL
    AND y.place_until > clock_timestamp())) < $4::int
    AND NOT EXISTS (SELECT FROM payout_queues q WHERE q.connection_id = $5::uuid
    AND q.paused_until > now()) AS "mayStart";

INSERT INTO payout_queues (connection_id)
VALUES ($1::uuid)
ON CONFLICT (connection_id) DO NOTHING;

SELECT
FROM payout_queues
WHERE connection_id = $1::uuid
FOR UPDATE;

SELECT COALESCE(last_served, $1::uuid) AS "lastServed", buckets,
    COALESCE(paused_until > clock_timestamp(), false) AS "isPaused",
    ((SELECT count(*)::int FROM withdrawals r WHERE r.connection_id = $2::uuid
    AND r.due_at IS NOT NULL AND r.place_until > clock_timestamp()) + (SELECT count(*)::int
    FROM bank_tries y WHERE y.connection_id = $3::uuid AND y.ended_at IS NULL
    AND y.place_until > clock_timestamp())) AS "inFlight",
    (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
FROM payout_queues
WHERE connection_id = $4::uuid;

WITH picked AS MATERIALIZED (
  SELECT r.account_id, r.id
  FROM withdrawals r
  WHERE r.connection_id = $1::uuid AND r.due_at <= now() AND r.place_until IS NULL
      AND r.pix_key_type = ANY($2)
      AND r.account_id = COALESCE((SELECT r.account_id
      FROM withdrawals r WHERE r.connection_id = $3::uuid AND r.due_at <= now()
      AND r.place_until IS NULL AND r.pix_key_type = ANY($4)
      AND r.account_id > $5::uuid ORDER BY r.account_id LIMIT 1),
      (SELECT r.account_id FROM withdrawals r WHERE r.connection_id = $6::uuid
      AND r.due_at <= now() AND r.place_until IS NULL
      AND r.pix_key_type = ANY($7) ORDER BY r.account_id LIMIT 1))
  ORDER BY r.id
  LIMIT 1
  FOR UPDATE SKIP LOCKED
)
UPDATE withdrawals r
SET due_at = now() + make_interval(secs => $8::float8 / 1000), lease = $9::uuid,
    attempts = attempts + 1, place_until = clock_timestamp() + $10 * interval '1 millisecond'
FROM picked p
WHERE r.account_id = p.account_id AND r.id = p.id
RETURNING r.account_id AS "accountId", r.id, r.mode, r.connection_id AS "connectionId", r.status,
    r.lease, r.attempts, r.trace, r.pix_key_type AS "keyType";

UPDATE payout_queues
SET last_served = $1::uuid, buckets = $2::jsonb
WHERE connection_id = $3::uuid;

SELECT dict_key AS "dictKey", owner_doc AS "ownerDoc", payee_name AS "payeeName"
FROM withdrawals
WHERE account_id = $1::uuid AND id = $2::uuid;

SELECT max(r.begun_at) AS "begunAt"
FROM restore_closures c
JOIN restores r ON r.id = c.restore_id
WHERE c.connection_id = $1::uuid;

SELECT w.amount, w.dict_key AS "dictKey", w.owner_doc AS "ownerDoc",
    a.status = 'active' AS "isActive",
    COALESCE(w.end_proposed_at > now() - $1 * interval '1 hour', false) AS "isEndProposed"
FROM withdrawals w
JOIN accounts a ON a.id = w.account_id
WHERE w.account_id = $2::uuid AND w.id = $3::uuid AND w.status = 'pending' AND w.lease = $4::uuid;

UPDATE withdrawals
SET due_at = now() + make_interval(secs => $1::float8 / 1000), lease = NULL, place_until = NULL,
    sent_at = CASE WHEN attempts > 1 THEN sent_at END, attempts = attempts - $2::int
WHERE account_id = $3::uuid AND id = $4::uuid AND lease = $5::uuid;

UPDATE withdrawals
SET lease = NULL, due_at = now() + make_interval(secs => GREATEST($1::float8,
    LEAST(600, GREATEST(1, LEAST(5, (extract(epoch FROM now() - place_until) + $2::float8)),
    (extract(epoch FROM now() - place_until) + $3::float8) / 6))))
WHERE account_id = $4::uuid AND id = $5::uuid AND lease = $6::uuid;
