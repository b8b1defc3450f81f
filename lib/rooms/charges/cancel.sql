-- an opening that was not finished
DELETE FROM charges
WHERE account_id = $1::uuid AND id = $2::uuid AND status = 'opening' AND lease = $3::uuid;

-- an opening that the bank refused, with an Idempotency-Key
DELETE FROM charges
WHERE account_id = $1::uuid AND id = $2::uuid AND status = 'opening';

DELETE FROM idempotency_keys
WHERE account_id = $1::uuid AND mode = $2 AND path = $3 AND key = $4;

-- an opening that the bank may have, with an Idempotency-Key
UPDATE charges
SET external_id = $1
WHERE account_id = $2::uuid AND id = $3::uuid AND status = 'opening';

UPDATE idempotency_keys
SET locked_until = now()
WHERE account_id = $1::uuid AND mode = $2 AND path = $3 AND key = $4;
