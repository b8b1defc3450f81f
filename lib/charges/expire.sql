-- due charges at the simulator
SELECT account_id AS "accountId", id AS "chargeId", true AS "ifTimeUp"
FROM (SELECT account_id, id FROM charges WHERE connection_id = $1::uuid
    AND due_at <= now() ORDER BY due_at LIMIT 1000) due
ORDER BY account_id, id;

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
      AND (NOT p.if_time_up OR c.expires_at <= now()) AND c.due_at <= now()
      AND (NOT EXISTS (SELECT FROM simulator_orders WHERE id = replace(c.id::text, '-', '')
      AND kind = 'charge' AND settles_at <= now()))
  ORDER BY c.account_id, c.id
  FOR UPDATE OF c SKIP LOCKED
), closed AS (
  UPDATE charges c
  SET status = $6, updated_at = now(), due_at = NULL, lease = NULL
  FROM locked k
  JOIN closings p USING (account_id, id)
  WHERE c.account_id = k.account_id AND c.id = k.id AND c.status = 'pending'
      AND (p.lease IS NULL OR c.lease = p.lease)
      AND (NOT p.if_time_up OR c.expires_at <= now()) AND c.due_at <= now()
      AND (NOT EXISTS (SELECT FROM simulator_orders WHERE id = replace(c.id::text, '-', '')
      AND kind = 'charge' AND settles_at <= now()))
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
