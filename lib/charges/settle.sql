-- charges that were paid
WITH payments AS (
  SELECT *
  FROM unnest((SELECT $1::uuid[]), (SELECT $2::uuid[]), (SELECT $3::text[]), (SELECT $4::bigint[]),
      (SELECT $5::timestamptz[]), (SELECT $6::timestamptz[]), (SELECT $7::uuid[]),
      (SELECT $8::text[]), (SELECT $9::json[]), (SELECT $10::uuid[])) AS p (account_id, id,
      end_to_end_id, amount, paid_at, booked_at, lease, trace, payer, event_id)
), locked AS (
  SELECT c.account_id, c.id, c.connection_id, p.end_to_end_id
  FROM charges c
  JOIN payments p USING (account_id, id)
  WHERE c.status IN ('pending', 'expired', 'failed') AND c.amount = p.amount
      AND (p.lease IS NULL OR c.lease = p.lease)
  ORDER BY c.account_id, c.id
  FOR UPDATE OF c
), claimed AS (
  INSERT INTO booked_payments (end_to_end_id, connection_id, account_id, subject_id)
  SELECT CASE WHEN end_to_end_id ~ '^[A-Za-z0-9]{32}$' THEN end_to_end_id
      ELSE connection_id || ' ' || end_to_end_id END, connection_id, account_id, id
  FROM locked
  ORDER BY end_to_end_id
  ON CONFLICT DO NOTHING
  RETURNING account_id, subject_id AS id
), paid AS (
  UPDATE charges c
  SET status = 'paid', paid_at = p.paid_at, updated_at = now(), end_to_end_id = p.end_to_end_id,
      payer_name = p.payer->>'name', payer_doc = p.payer->>'maskedDoc',
      payer_bank = p.payer->>'bank', due_at = NULL, lease = NULL
  FROM claimed k
  JOIN payments p USING (account_id, id)
  WHERE c.account_id = k.account_id AND c.id = k.id
      AND c.status IN ('pending', 'expired', 'failed') AND c.amount = p.amount
      AND (p.lease IS NULL OR c.lease = p.lease)
  RETURNING c.*, p.booked_at, p.event_id, p.trace
), source AS (
  SELECT c.booked_at, c.account_id, c.mode, c.event_id, c.webhook_url, c.webhook_host, c.trace,
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
      c.payer_doc, 'bank', c.payer_bank) END AS payer) r) AS resource, c.id, c.amount,
      c.connection_id
  FROM paid c
), booked AS (
  SELECT troco_book('charge_paid', 'external', 'available', 'transaction.paid',
      array_agg(ROW(s.account_id, s.mode, s.id, s.amount, s.connection_id, s.booked_at, s.event_id,
      s.subject_id, s.resource, s.trace, s.webhook_url, s.webhook_host)::troco_booking))
  FROM source s
)
SELECT s.resource::text AS json
FROM source s
CROSS JOIN booked;
