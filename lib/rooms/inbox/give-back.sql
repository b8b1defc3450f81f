-- an order to give money in suspense back
SELECT kind, connection_id AS "connectionId", key, resolved_at IS NOT NULL AS "isResolved"
FROM inbox_items
WHERE id = $1::uuid
FOR UPDATE;

-- by the ORM: SELECT FROM receipt_returns

-- by the ORM: SELECT FROM receipts

INSERT INTO receipt_returns (account_id, id, receipt_id, item_id, mode, connection_id, status,
    amount, requested_by, reason, due_at)
VALUES ($1::uuid, $2::uuid, $3::uuid, $4::uuid, $5, $6::uuid, 'pending', $7::bigint, $8::uuid, $9,
    now());

-- by the ORM: INSERT INTO audit_log
