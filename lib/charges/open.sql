-- a charge at a bank
INSERT INTO charges (account_id, id, mode, connection_id, status, amount, external_id, txid,
    br_code, client_name, client_email, client_doc, client_phone, webhook_url, webhook_host, ip,
    metadata, utms, items, webhook_masked, expires_at, due_at)
VALUES ($1::uuid, $2::uuid, $3, $4::uuid, $5, $6::bigint, $7, $8, $9, $10, $11, $12, $13, $14, $15,
    $16, $17::json, $18::json, $19::json, $20, now() + make_interval(secs => $21::float8),
    now() + make_interval(secs => $22::float8));

INSERT INTO gateway_calls (account_id, id, mode, gateway, operation, subject_id, request,
    connection_id)
SELECT c.account_id, c.id, c.mode, $1, $2, c.subject_id, c.request::json, $3::uuid
FROM unnest($4::uuid[], $5::uuid[], $6::text[], $7::uuid[], $8::text[]) AS c (account_id, id, mode,
    subject_id, request);

UPDATE gateway_calls g
SET outcome = $1, finished_at = clock_timestamp(), response = c.response::json
FROM unnest($2::uuid[], $3::text[]) AS c (id, response)
WHERE g.id = c.id;

WITH published AS (
  UPDATE charges c
  SET status = 'pending', br_code = $1, updated_at = now(), external_id = $2,
      expires_at = now() + make_interval(secs => $3::float8),
      due_at = LEAST(now() + make_interval(secs => $4::float8),
      (SELECT c.created_at + make_interval(secs => min(after_ms) / 1000)
      FROM unnest($5::float8[] || $6::float8 * (floor(extract(epoch FROM now() - c.created_at) *
      1000 / $7::float8) + 1)) after_ms WHERE after_ms > extract(epoch FROM now() - c.created_at) *
      1000))
  WHERE c.account_id = $8::uuid AND c.id = $9::uuid AND c.status = 'opening' AND c.lease IS NULL
  RETURNING c.id, c.br_code, c.amount, c.status, c.metadata
)
SELECT row_to_json(p)::text AS json
FROM published p;

-- a charge at a bank, with an Idempotency-Key
WITH kept AS (
  INSERT INTO idempotency_keys (account_id, mode, path, key, request_hash, resource_id,
      locked_until, locked_by, expires_at)
  VALUES ($1::uuid, $2, $3, $4, $5, $6::uuid, now() + interval '60 seconds', $7::integer,
      now() + make_interval(secs => $8::float8))
), made AS (
  INSERT INTO charges (account_id, id, mode, connection_id, status, amount, external_id, txid,
      br_code, client_name, client_email, client_doc, client_phone, webhook_url, webhook_host, ip,
      metadata, utms, items, webhook_masked, expires_at, due_at)
  VALUES ($9::uuid, $10::uuid, $11, $12::uuid, $13, $14::bigint, $15, $16, $17, $18, $19, $20, $21,
      $22, $23, $24, $25::json, $26::json, $27::json, $28,
      now() + make_interval(secs => $29::float8), now() + make_interval(secs => $30::float8))
)
SELECT 'null' AS json;

INSERT INTO gateway_calls (account_id, id, mode, gateway, operation, subject_id, request,
    connection_id)
SELECT c.account_id, c.id, c.mode, $1, $2, c.subject_id, c.request::json, $3::uuid
FROM unnest($4::uuid[], $5::uuid[], $6::text[], $7::uuid[], $8::text[]) AS c (account_id, id, mode,
    subject_id, request);

UPDATE gateway_calls g
SET outcome = $1, finished_at = clock_timestamp(), response = c.response::json
FROM unnest($2::uuid[], $3::text[]) AS c (id, response)
WHERE g.id = c.id;

WITH published AS (
  UPDATE charges c
  SET status = 'pending', br_code = $1, updated_at = now(), external_id = $2,
      expires_at = now() + make_interval(secs => $3::float8),
      due_at = LEAST(now() + make_interval(secs => $4::float8),
      (SELECT c.created_at + make_interval(secs => min(after_ms) / 1000)
      FROM unnest($5::float8[] || $6::float8 * (floor(extract(epoch FROM now() - c.created_at) *
      1000 / $7::float8) + 1)) after_ms WHERE after_ms > extract(epoch FROM now() - c.created_at) *
      1000))
  WHERE c.account_id = $8::uuid AND c.id = $9::uuid AND c.status = 'opening' AND c.lease IS NULL
  RETURNING c.id, c.br_code, c.amount, c.status, c.metadata
), done AS (
  UPDATE idempotency_keys
  SET locked_until = NULL
  WHERE account_id = $10::uuid AND mode = $11 AND path = $12 AND key = $13
      AND EXISTS (SELECT 1 FROM published)
)
SELECT row_to_json(p)::text AS json
FROM published p;
