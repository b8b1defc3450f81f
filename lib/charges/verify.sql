-- due charges that are open at the bank
WITH picked AS MATERIALIZED (
  SELECT *
  FROM (SELECT r.account_id, r.id FROM charges r WHERE r.due_at <= now() ORDER BY r.due_at LIMIT
      $1::int FOR UPDATE SKIP LOCKED) d
  LIMIT 250
)
UPDATE charges r
SET due_at = now() + make_interval(secs => $2::float8 / 1000), lease = $3::uuid,
    attempts = attempts + 1
FROM picked p
WHERE r.account_id = p.account_id AND r.id = p.id
RETURNING r.account_id AS "accountId", r.id, r.mode, r.connection_id AS "connectionId", r.status,
    r.lease, r.attempts;

SELECT c.id
FROM charges c
JOIN unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS h (account_id, id, lease) USING (account_id, id)
WHERE c.expires_at <= now();

INSERT INTO gateway_calls (account_id, id, mode, gateway, operation, subject_id, request,
    connection_id)
SELECT c.account_id, c.id, c.mode, $1, $2, c.subject_id, c.request::json, $3::uuid
FROM unnest($4::uuid[], $5::uuid[], $6::text[], $7::uuid[], $8::text[]) AS c (account_id, id, mode,
    subject_id, request);

UPDATE gateway_calls g
SET outcome = $1, finished_at = clock_timestamp(), response = c.response::json
FROM unnest($2::uuid[], $3::text[]) AS c (id, response)
WHERE g.id = c.id;

WITH closings AS (
  SELECT *
  FROM unnest((SELECT $1::uuid[]), (SELECT $2::uuid[]), (SELECT $3::uuid[]),
      (SELECT $4::boolean[]), (SELECT $5::uuid[])) AS p (account_id, id, lease, if_time_up,
      event_id)
), locked AS (
  SELECT c.account_id, c.id
  FROM charges c
  JOIN closings p USING (account_id, id)
  WHERE c.status = 'pending' AND (p.lease IS NULL OR c.lease = p.lease)
      AND (NOT p.if_time_up OR c.expires_at <= now())
  ORDER BY c.account_id, c.id
  FOR UPDATE OF c
), closed AS (
  UPDATE charges c
  SET status = $6, updated_at = now(), due_at = now(), lease = NULL
  FROM locked k
  JOIN closings p USING (account_id, id)
  WHERE c.account_id = k.account_id AND c.id = k.id AND c.status = 'pending'
      AND (p.lease IS NULL OR c.lease = p.lease) AND (NOT p.if_time_up OR c.expires_at <= now())
  RETURNING c.*, p.event_id, $7::text AS trace
), source AS (
  SELECT c.account_id, c.mode, c.event_id, c.webhook_url, c.webhook_host, c.trace,
      c.id AS subject_id, (SELECT row_to_json(r)
      FROM (SELECT c.br_code, c.amount, c.status, c.metadata, c.id, c.external_id, c.mode,
      c.client_name, c.client_email, c.client_doc, c.client_phone, c.ip, c.items, c.utms,
      c.webhook_url, to_char(c.expires_at AT TIME ZONE 'UTC',
      'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS expires_at,
      to_char(c.paid_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS paid_at,
      c.end_to_end_id, c.refunded_amount,
      to_char(c.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at,
      to_char(c.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS updated_at,
      to_char(c.cancelled_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS cancelled_at,
      c.description, c.webhook_masked, CASE
      WHEN c.payer_name IS NOT NULL THEN json_build_object('name', c.payer_name, 'document',
      c.payer_doc, 'bank', c.payer_bank) END AS payer) r) AS resource
  FROM closed c
), booked AS (
  SELECT troco_book(NULL, NULL, NULL, 'transaction.expired',
      array_agg(ROW(s.account_id, s.mode, NULL, NULL, NULL, NULL, s.event_id, s.subject_id,
      s.resource, s.trace, s.webhook_url, s.webhook_host)::troco_booking))
  FROM source s
)
SELECT json_build_object('id', c.id)::text AS json
FROM closed c
CROSS JOIN booked;

UPDATE charges c
SET due_at = LEAST(c.expires_at, (SELECT c.created_at + make_interval(secs => min(after_ms) / 1000)
    FROM unnest($1::float8[] || $2::float8 * (floor(extract(epoch FROM now() - c.created_at) * 1000
    / $3::float8) + 1)) after_ms WHERE after_ms > extract(epoch FROM now() - c.created_at) *
    1000)), lease = NULL
FROM unnest($4::uuid[], $5::uuid[], $6::uuid[]) AS h (account_id, id, lease)
WHERE c.account_id = h.account_id AND c.id = h.id AND c.lease = h.lease;

-- due charges, while the bank is down
WITH picked AS MATERIALIZED (
  SELECT *
  FROM (SELECT r.account_id, r.id FROM charges r WHERE r.due_at <= now() ORDER BY r.due_at LIMIT
      $1::int FOR UPDATE SKIP LOCKED) d
  LIMIT 250
)
UPDATE charges r
SET due_at = now() + make_interval(secs => $2::float8 / 1000), lease = $3::uuid,
    attempts = attempts + 1
FROM picked p
WHERE r.account_id = p.account_id AND r.id = p.id
RETURNING r.account_id AS "accountId", r.id, r.mode, r.connection_id AS "connectionId", r.status,
    r.lease, r.attempts;

SELECT c.id
FROM charges c
JOIN unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS h (account_id, id, lease) USING (account_id, id)
WHERE c.expires_at <= now();

INSERT INTO gateway_calls (account_id, id, mode, gateway, operation, subject_id, request,
    connection_id)
SELECT c.account_id, c.id, c.mode, $1, $2, c.subject_id, c.request::json, $3::uuid
FROM unnest($4::uuid[], $5::uuid[], $6::text[], $7::uuid[], $8::text[]) AS c (account_id, id, mode,
    subject_id, request);

UPDATE gateway_calls g
SET outcome = $1, finished_at = clock_timestamp(), response = c.response::json
FROM unnest($2::uuid[], $3::text[]) AS c (id, response)
WHERE g.id = c.id;

UPDATE charges c
SET due_at = now() + make_interval(secs => $1::float8 / 1000), lease = NULL
FROM unnest($2::uuid[], $3::uuid[], $4::uuid[]) AS h (account_id, id, lease)
WHERE c.account_id = h.account_id AND c.id = h.id AND c.lease = h.lease;
