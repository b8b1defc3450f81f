-- due charges at the simulator
SELECT account_id AS "accountId", id AS "chargeId", true AS "ifTimeUp"
FROM (SELECT account_id, id FROM charges WHERE connection_id = $1::uuid
    AND due_at <= now() ORDER BY due_at LIMIT 1000) due
ORDER BY account_id, id;

WITH closings AS (
  SELECT *
  FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::boolean[], $5::uuid[]) AS p (account_id, id,
      lease, if_time_up, event_id)
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
), event_totals AS (
  SELECT account_id, mode, count(*) AS events
  FROM source
  GROUP BY account_id, mode
), event_locked AS (
  SELECT s.account_id, s.mode, t.events
  FROM event_sequences s
  JOIN event_totals t USING (account_id, mode)
  ORDER BY s.account_id, s.mode
  FOR UPDATE OF s
), event_numbered AS (
  UPDATE event_sequences s
  SET last = s.last + k.events
  FROM event_locked k
  WHERE s.account_id = k.account_id AND s.mode = k.mode
  RETURNING s.account_id, s.mode, s.last - k.events AS last_before
), event_rows AS (
  SELECT f.account_id, f.mode, f.event_id, f.subject_id, f.webhook_url, f.webhook_host, f.resource,
      f.trace, q.last_before + row_number() OVER (PARTITION BY f.account_id,
      f.mode ORDER BY f.subject_id) AS sequence
  FROM source f
  JOIN event_numbered q USING (account_id, mode)
), event_recorded AS (
  INSERT INTO events (account_id, id, mode, sequence, type, subject_id, resource, trace, created_at)
  SELECT account_id, event_id, mode, sequence, $8, subject_id, resource, trace, clock_timestamp()
  FROM event_rows
), delivery_enqueued AS (
  INSERT INTO deliveries (account_id, id, mode, event_id, subject_id, sequence, endpoint_id, url,
      host, status, due_at)
  SELECT account_id, event_id, mode, event_id, subject_id, sequence, NULL::uuid, webhook_url,
      COALESCE(webhook_host, troco_host_of(webhook_url)), 'pending', now()
  FROM event_rows
  WHERE webhook_url IS NOT NULL
  UNION ALL
  SELECT r.account_id, md5(r.event_id::text || p.id::text)::uuid, r.mode, r.event_id, r.subject_id,
      r.sequence, p.id, p.url, COALESCE(p.host, troco_host_of(p.url)), 'pending', CASE
      WHEN p.disabled_at IS NULL THEN now() END
  FROM event_rows r
  JOIN webhook_endpoints p USING (account_id, mode)
  WHERE p.deleted_at IS NULL AND $9 = ANY (p.event_types)
)
SELECT json_build_object('id', c.id)::text AS json
FROM closed c;
