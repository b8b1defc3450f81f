-- an opening that was not finished
SELECT id, amount, state, end_to_end_id, settles_at
FROM simulator_orders
WHERE id = ANY ($1) AND kind = 'charge' AND settles_at <= now();

DELETE FROM charges
WHERE account_id = $1::uuid AND id = $2::uuid AND status = 'opening' AND lease = $3::uuid;

-- an opening that the bank refused, with an Idempotency-Key
DELETE FROM charges
WHERE account_id = $1::uuid AND id = $2::uuid AND status = 'opening';

DELETE FROM idempotency_keys
WHERE account_id = $1::uuid AND mode = $2 AND path = $3 AND key = $4
    AND locked_by IS NOT DISTINCT FROM $5::integer;

-- an opening that the bank may have, with an Idempotency-Key
UPDATE charges
SET external_id = $1, external_id_slot = 0, lease = NULL, due_at = now() + $2 * interval '1 second'
WHERE account_id = $3::uuid AND id = $4::uuid AND status = 'opening';

INSERT INTO charges (account_id, id, mode, connection_id, status, amount, external_id, txid,
    br_code, client_name, client_email, client_doc, client_phone, webhook_url, webhook_host, ip,
    metadata, utms, items, webhook_masked, expires_at, due_at)
VALUES ($1::uuid, $2::uuid, $3, $4::uuid, $5, $6::bigint, $7, $8, $9, $10, $11, $12, $13, $14, $15,
    $16, $17::json, $18::json, $19::json, $20, now() + make_interval(secs => $21::float8),
    now() + make_interval(secs => $22::float8));

UPDATE idempotency_keys
SET locked_until = now()
WHERE account_id = $1::uuid AND mode = $2 AND path = $3 AND key = $4
    AND locked_by IS NOT DISTINCT FROM $5::integer;
