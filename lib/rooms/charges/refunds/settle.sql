-- a refund that the bank sent
WITH locked AS (
  SELECT c.account_id, c.id
  FROM charges c
  JOIN refunds r ON r.account_id = c.account_id AND r.charge_id = c.id
  WHERE r.account_id = $1::uuid AND r.id = $2::uuid AND r.status = 'pending'
      AND $3 IN ('', r.lease::text)
  FOR UPDATE OF c
), settled AS (
  UPDATE refunds r
  SET status = $4, return_id = $5, due_at = NULL, lease = NULL, completed_at = now(),
      updated_at = now()
  FROM locked k
  WHERE r.account_id = k.account_id AND r.charge_id = k.id AND r.id = $6::uuid
      AND r.status = 'pending' AND $7 IN ('', r.lease::text)
  RETURNING r.*
), charged AS (
  UPDATE charges c
  SET refunded_amount = c.refunded_amount + s.amount,
      refund_held_amount = c.refund_held_amount - s.amount, updated_at = now()
  FROM settled s
  WHERE c.account_id = s.account_id AND c.id = s.charge_id
  RETURNING c.*
), source AS (
  SELECT NULL::timestamptz AS booked_at, r.account_id, r.mode, r.id, r.amount, r.trace,
      $8::uuid AS event_id, c.id AS subject_id, c.connection_id, c.webhook_url, c.webhook_host,
      (SELECT row_to_json(r) FROM (SELECT c.br_code, c.amount, c.status, c.metadata, c.id,
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
      c.payer_doc, 'bank', c.payer_bank) END AS payer,
      (SELECT row_to_json(r) FROM (SELECT r.id, r.charge_id AS transaction_id, r.amount, r.status,
      r.reason, to_char(r.created_at AT TIME ZONE 'UTC',
      'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at, r.mode, r.rejection_reason, r.rejection_code,
      r.return_id, to_char(r.completed_at AT TIME ZONE 'UTC',
      'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS completed_at,
      to_char(r.rejected_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS rejected_at,
      to_char(r.updated_at AT TIME ZONE 'UTC',
      'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS updated_at) r) AS refund) r) AS resource
  FROM charged c
  JOIN settled r ON r.account_id = c.account_id AND r.charge_id = c.id
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
  SELECT l.account_id, l.mode, l.ledger, t.moves, CASE WHEN l.ledger = $9 THEN t.total
      ELSE -t.total END AS change
  FROM ledger_accounts l
  JOIN ledger_totals t USING (account_id, mode)
  WHERE l.ledger IN ($10, $11)
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
  SELECT account_id, $12, id, mode, $13, $14, amount, connection_id,
      COALESCE(booked_at, clock_timestamp())
  FROM ledger_moves
), ledger_entered AS (
  INSERT INTO ledger_entries (account_id, mode, ledger, version, kind, subject_id, amount,
      balance_after, created_at)
  SELECT b.account_id, b.mode, b.ledger, b.version_before + m.nth, $15, m.id, b.side * m.amount,
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
  SELECT account_id, event_id, mode, sequence, $16, subject_id, resource, trace, clock_timestamp()
  FROM event_rows
), delivery_enqueued AS (
  INSERT INTO deliveries (account_id, id, mode, event_id, subject_id, sequence, endpoint_id, url,
      host, status, due_at)
  SELECT r.account_id, md5(r.event_id::text || p.id::text)::uuid, r.mode, r.event_id, r.subject_id,
      r.sequence, p.id, p.url, COALESCE(p.host, troco_host_of(p.url)), 'pending', CASE
      WHEN p.disabled_at IS NULL THEN now() END
  FROM event_rows r
  JOIN webhook_endpoints p USING (account_id, mode)
  WHERE p.deleted_at IS NULL AND $17 = ANY (p.event_types)
)
SELECT (SELECT row_to_json(r) FROM (SELECT r.id, r.charge_id AS transaction_id, r.amount, r.status,
    r.reason, to_char(r.created_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at, r.mode, r.rejection_reason, r.rejection_code,
    r.return_id, to_char(r.completed_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS completed_at,
    to_char(r.rejected_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS rejected_at,
    to_char(r.updated_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS updated_at) r)::text AS json
FROM charged c
JOIN settled r ON r.account_id = c.account_id AND r.charge_id = c.id;

-- a refund that the bank refused
WITH locked AS (
  SELECT c.account_id, c.id
  FROM charges c
  JOIN refunds r ON r.account_id = c.account_id AND r.charge_id = c.id
  WHERE r.account_id = $1::uuid AND r.id = $2::uuid AND r.status = 'pending'
      AND $3 IN ('', r.lease::text)
  FOR UPDATE OF c
), settled AS (
  UPDATE refunds r
  SET status = $4, rejection_code = $5, rejection_params = $6::json, rejection_reason = $7,
      bank_text = $8, due_at = NULL, lease = NULL, rejected_at = now(), updated_at = now()
  FROM locked k
  WHERE r.account_id = k.account_id AND r.charge_id = k.id AND r.id = $9::uuid
      AND r.status = 'pending' AND $10 IN ('', r.lease::text)
  RETURNING r.*
), charged AS (
  UPDATE charges c
  SET refunded_amount = c.refunded_amount + 0,
      refund_held_amount = c.refund_held_amount - s.amount, updated_at = now()
  FROM settled s
  WHERE c.account_id = s.account_id AND c.id = s.charge_id
  RETURNING c.*
), source AS (
  SELECT NULL::timestamptz AS booked_at, r.account_id, r.mode, r.id, r.amount, r.trace,
      $11::uuid AS event_id, c.id AS subject_id, c.connection_id, c.webhook_url, c.webhook_host,
      (SELECT row_to_json(r) FROM (SELECT c.br_code, c.amount, c.status, c.metadata, c.id,
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
      c.payer_doc, 'bank', c.payer_bank) END AS payer,
      (SELECT row_to_json(r) FROM (SELECT r.id, r.charge_id AS transaction_id, r.amount, r.status,
      r.reason, to_char(r.created_at AT TIME ZONE 'UTC',
      'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at, r.mode, r.rejection_reason, r.rejection_code,
      r.return_id, to_char(r.completed_at AT TIME ZONE 'UTC',
      'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS completed_at,
      to_char(r.rejected_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS rejected_at,
      to_char(r.updated_at AT TIME ZONE 'UTC',
      'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS updated_at) r) AS refund) r) AS resource
  FROM charged c
  JOIN settled r ON r.account_id = c.account_id AND r.charge_id = c.id
), ledger_moves AS (
  SELECT account_id, mode, id, amount, booked_at, NULL::uuid AS connection_id,
      row_number() OVER w AS nth, (sum(amount) OVER w)::bigint AS running
  FROM source
  WINDOW w AS (PARTITION BY account_id, mode ORDER BY id)
), ledger_totals AS (
  SELECT account_id, mode, sum(amount)::bigint AS total, count(*) AS moves
  FROM source
  GROUP BY account_id, mode
), ledger_locked AS (
  SELECT l.account_id, l.mode, l.ledger, t.moves, CASE WHEN l.ledger = $12 THEN t.total
      ELSE -t.total END AS change
  FROM ledger_accounts l
  JOIN ledger_totals t USING (account_id, mode)
  WHERE l.ledger IN ($13, $14)
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
  SELECT account_id, $15, id, mode, $16, $17, amount, connection_id,
      COALESCE(booked_at, clock_timestamp())
  FROM ledger_moves
), ledger_entered AS (
  INSERT INTO ledger_entries (account_id, mode, ledger, version, kind, subject_id, amount,
      balance_after, created_at)
  SELECT b.account_id, b.mode, b.ledger, b.version_before + m.nth, $18, m.id, b.side * m.amount,
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
  SELECT account_id, event_id, mode, sequence, $19, subject_id, resource, trace, clock_timestamp()
  FROM event_rows
), delivery_enqueued AS (
  INSERT INTO deliveries (account_id, id, mode, event_id, subject_id, sequence, endpoint_id, url,
      host, status, due_at)
  SELECT r.account_id, md5(r.event_id::text || p.id::text)::uuid, r.mode, r.event_id, r.subject_id,
      r.sequence, p.id, p.url, COALESCE(p.host, troco_host_of(p.url)), 'pending', CASE
      WHEN p.disabled_at IS NULL THEN now() END
  FROM event_rows r
  JOIN webhook_endpoints p USING (account_id, mode)
  WHERE p.deleted_at IS NULL AND $20 = ANY (p.event_types)
)
SELECT (SELECT row_to_json(r) FROM (SELECT r.id, r.charge_id AS transaction_id, r.amount, r.status,
    r.reason, to_char(r.created_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at, r.mode, r.rejection_reason, r.rejection_code,
    r.return_id, to_char(r.completed_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS completed_at,
    to_char(r.rejected_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS rejected_at,
    to_char(r.updated_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS updated_at) r)::text AS json
FROM charged c
JOIN settled r ON r.account_id = c.account_id AND r.charge_id = c.id;
