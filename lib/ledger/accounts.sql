-- balances, for a remembered token
SELECT json_object_agg(l.ledger, l.balance)::text AS json
FROM ledger_accounts l
WHERE (SELECT COALESCE((SELECT t.account_id
    FROM tokens t JOIN accounts a ON a.id = t.account_id WHERE t.hash = $1
    AND (t.revoked_at IS NULL AND COALESCE(t.expires_at, 'infinity') > now())
    AND NOT pg_is_in_recovery() AND a.id IS NOT DISTINCT FROM $2::uuid
    AND t.mode IS NOT DISTINCT FROM $3::text AND t.permissions IS NOT DISTINCT FROM $4::text[]
    AND a.name IS NOT DISTINCT FROM $5::text AND a.city IS NOT DISTINCT FROM $6::text
    AND a.expires_in IS NOT DISTINCT FROM $7::int AND a.status IS NOT DISTINCT FROM $8::text
    AND t.issued_by IS NOT DISTINCT FROM $9::uuid
    AND t.former_issuers IS NOT DISTINCT FROM $10::uuid[]
    AND t.allowed_addresses IS NOT DISTINCT FROM $11::text[]
    AND t.parent_id IS NOT DISTINCT FROM $12::uuid), troco_refuse_caller())) IS NOT NULL
    AND l.account_id = $13::uuid AND l.mode = $14 AND l.ledger <> 'external';
