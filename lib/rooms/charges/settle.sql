-- charges that were paid
WITH payments AS (
  SELECT *
  FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::bigint[], $5::timestamptz[],
      $6::timestamptz[], $7::uuid[], $8::text[], $9::text[]::json[], $10::uuid[]) AS p (account_id,
      id, end_to_end_id, amount, paid_at, booked_at, lease, trace, payer, event_id)
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
), ledger_moves AS (
  SELECT account_id, mode, id, amount, booked_at, connection_id, row_number() OVER w AS nth,
      (sum(amount) OVER w)::bigint AS running
  FROM source
  WINDOW w AS (PARTITION BY account_id, mode ORDER BY id)
), ledger_totals AS (
  SELECT account_id, mode, sum(amount)::bigint AS total, count(*) AS moves
  FROM source
  GROUP BY account_id, mode
), ledger_locked AS (
  SELECT l.account_id, l.mode, l.ledger, t.moves, CASE WHEN l.ledger = $11 THEN t.total
      ELSE -t.total END AS change
  FROM ledger_accounts l
  JOIN ledger_totals t USING (account_id, mode)
  WHERE l.ledger IN ($12, $13)
  ORDER BY l.account_id, l.mode, l.ledger
  FOR UPDATE OF l
), ledger_moved AS (
  UPDATE ledger_accounts l
  SET balance = l.balance + k.change, version = l.version + k.moves
  FROM ledger_locked k
  WHERE l.account_id = k.account_id AND l.mode = k.mode AND l.ledger = k.ledger
  RETURNING l.account_id, l.mode, l.ledger, sign(k.change)::bigint AS side,
      l.balance - k.change AS balance_before, l.version - k.moves AS version_before
), ledger_transferred AS (
  INSERT INTO ledger_transfers (account_id, kind, subject_id, mode, debit, credit, amount,
      connection_id, created_at)
  SELECT account_id, $14, id, mode, $15, $16, amount, connection_id,
      COALESCE(booked_at, clock_timestamp())
  FROM ledger_moves
), ledger_entered AS (
  INSERT INTO ledger_entries (account_id, mode, ledger, version, kind, subject_id, amount,
      balance_after, created_at)
  SELECT b.account_id, b.mode, b.ledger, b.version_before + m.nth, $17, m.id, b.side * m.amount,
      b.balance_before + b.side * m.running, COALESCE(m.booked_at, clock_timestamp())
  FROM ledger_moved b
  JOIN ledger_moves m USING (account_id, mode)
), event_totals AS (
  SELECT account_id, mode, count(*) AS events
  FROM source
  GROUP BY account_id, mode
), event_locked AS (
  SELECT s.account_id, s.mode, t.events
  FROM event_sequences s
  JOIN event_totals t USING (account_id, mode)
  WHERE (SELECT count(*) FROM ledger_moved) > 0
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
  SELECT account_id, event_id, mode, sequence, $18, subject_id, resource, trace, clock_timestamp()
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
  WHERE p.deleted_at IS NULL AND $19 = ANY (p.event_types)
)
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
FROM paid c;
