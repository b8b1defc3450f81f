-- a pending charge
SELECT (SELECT row_to_json(r) FROM (SELECT c.br_code, c.amount, c.status, c.metadata, c.id,
    c.external_id, c.mode, c.client_name, c.client_email, c.client_doc, c.client_phone, c.ip,
    c.items, c.utms, c.webhook_url,
    to_char(c.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS expires_at,
    to_char(c.paid_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS paid_at,
    c.end_to_end_id, c.refunded_amount,
    to_char(c.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at,
    to_char(c.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS updated_at,
    to_char(c.cancelled_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS cancelled_at,
    c.description, c.webhook_masked, CASE
    WHEN c.payer_name IS NOT NULL THEN json_build_object('name', c.payer_name, 'document',
    c.payer_doc, 'bank', c.payer_bank) END AS payer) r)::text AS json
FROM charges c
WHERE c.account_id = $1::uuid AND c.mode = $2 AND c.status <> 'opening' AND c.id = $3::uuid;

UPDATE charges c
SET description = $1, updated_at = now()
WHERE c.account_id = $2::uuid AND c.id = $3::uuid AND c.status = 'pending'
RETURNING (SELECT row_to_json(r) FROM (SELECT c.br_code, c.amount, c.status, c.metadata, c.id,
    c.external_id, c.mode, c.client_name, c.client_email, c.client_doc, c.client_phone, c.ip,
    c.items, c.utms, c.webhook_url,
    to_char(c.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS expires_at,
    to_char(c.paid_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS paid_at,
    c.end_to_end_id, c.refunded_amount,
    to_char(c.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at,
    to_char(c.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS updated_at,
    to_char(c.cancelled_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS cancelled_at,
    c.description, c.webhook_masked, CASE
    WHEN c.payer_name IS NOT NULL THEN json_build_object('name', c.payer_name, 'document',
    c.payer_doc, 'bank', c.payer_bank) END AS payer) r)::text AS json;
