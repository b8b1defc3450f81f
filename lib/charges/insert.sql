-- a charge
INSERT INTO charges (account_id, id, mode, connection_id, status, amount, external_id, txid,
    br_code, client_name, client_email, client_doc, client_phone, webhook_url, webhook_host, ip,
    metadata, utms, items, webhook_masked, expires_at, due_at)
VALUES ($1::uuid, $2::uuid, $3, $4::uuid, $5, $6::bigint, $7, $8, $9, $10, $11, $12, $13, $14, $15,
    $16, $17::json, $18::json, $19::json, $20, now() + make_interval(secs => $21::float8),
    now() + make_interval(secs => $22::float8));

-- a charge, with an Idempotency-Key
WITH kept AS (
  INSERT INTO idempotency_keys (account_id, mode, path, key, request_hash, resource_id,
      locked_until, locked_by, expires_at)
  VALUES ($1::uuid, $2, $3, $4, $5, $6::uuid, NULL, NULL, now() + make_interval(secs => $7::float8))
), made AS (
  INSERT INTO charges (account_id, id, mode, connection_id, status, amount, external_id, txid,
      br_code, client_name, client_email, client_doc, client_phone, webhook_url, webhook_host, ip,
      metadata, utms, items, webhook_masked, expires_at, due_at)
  VALUES ($8::uuid, $9::uuid, $10, $11::uuid, $12, $13::bigint, $14, $15, $16, $17, $18, $19, $20,
      $21, $22, $23, $24::json, $25::json, $26::json, $27,
      now() + make_interval(secs => $28::float8), now() + make_interval(secs => $29::float8))
)
SELECT 'null' AS json;

-- a charge, for a remembered token
INSERT INTO charges (account_id, id, mode, connection_id, status, amount, external_id, txid,
    br_code, client_name, client_email, client_doc, client_phone, webhook_url, webhook_host, ip,
    metadata, utms, items, webhook_masked, expires_at, due_at)
VALUES ((SELECT COALESCE((SELECT t.account_id
    FROM tokens t JOIN accounts a ON a.id = t.account_id WHERE t.hash = $1
    AND (t.revoked_at IS NULL AND COALESCE(t.expires_at, 'infinity') > now())
    AND NOT pg_is_in_recovery() AND a.id IS NOT DISTINCT FROM $2::uuid
    AND t.mode IS NOT DISTINCT FROM $3::text AND t.permissions IS NOT DISTINCT FROM $4::text[]
    AND a.name IS NOT DISTINCT FROM $5::text AND a.city IS NOT DISTINCT FROM $6::text
    AND a.expires_in IS NOT DISTINCT FROM $7::int AND a.status IS NOT DISTINCT FROM $8::text
    AND t.issued_by IS NOT DISTINCT FROM $9::uuid
    AND t.former_issuers IS NOT DISTINCT FROM $10::uuid[]
    AND t.allowed_addresses IS NOT DISTINCT FROM $11::text[]
    AND t.parent_id IS NOT DISTINCT FROM $12::uuid), troco_refuse_caller())), $13::uuid, $14,
    $15::uuid, $16, $17::bigint, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28::json,
    $29::json, $30::json, $31, now() + make_interval(secs => $32::float8),
    now() + make_interval(secs => $33::float8));
