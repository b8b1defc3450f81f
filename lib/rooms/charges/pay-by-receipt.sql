-- money in suspense that pays a charge
INSERT INTO charges (account_id, id, mode, connection_id, status, amount, external_id, txid,
    br_code, client_name, client_email, client_doc, client_phone, webhook_url, webhook_host, ip,
    metadata, utms, items, webhook_masked, expires_at, due_at)
VALUES ($1::uuid, $2::uuid, $3, $4::uuid, $5, $6::bigint, $7, $8, $9, $10, $11, $12, $13, $14, $15,
    $16, $17::json, $18::json, $19::json, $20, now() + make_interval(secs => $21::float8),
    now() + make_interval(secs => $22::float8));

SELECT kind, connection_id AS "connectionId", key, resolved_at IS NOT NULL AS "isResolved"
FROM inbox_items
WHERE id = $1::uuid
FOR UPDATE;

-- by the ORM: SELECT FROM receipt_returns

-- by the ORM: SELECT FROM receipts

SELECT account_id AS "accountId", status, amount, connection_id AS "connectionId"
FROM charges
WHERE txid = $1 AND mode = $2 AND status <> 'opening'
FOR UPDATE;

SELECT
FROM ledger_accounts
WHERE account_id = $1::uuid AND mode = $2 AND ledger = 'available'
FOR UPDATE;

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
  SELECT account_id, id
  FROM locked
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
  SELECT l.account_id, l.mode, l.ledger, l.owed, CASE l.ledger WHEN $11 THEN 1
      WHEN $12 THEN -1 ELSE 0 END * t.total AS change,
      abs(CASE l.ledger WHEN $13 THEN 1 WHEN $14 THEN -1 ELSE 0 END) * t.moves AS moves,
      0 AS owed_change
  FROM ledger_accounts l
  JOIN ledger_totals t USING (account_id, mode)
  WHERE l.ledger IN ($15,$16)
  ORDER BY l.account_id, l.mode, l.ledger
  FOR UPDATE OF l
), ledger_repaid AS (
  SELECT m.account_id, m.mode, m.id, m.booked_at, m.nth, LEAST(m.running, k.owed) AS running,
      LEAST(m.running, k.owed) - (m.running - m.amount) AS amount
  FROM ledger_moves m
  JOIN ledger_locked k USING (account_id, mode)
  WHERE k.ledger = 'available' AND m.running - m.amount < k.owed
), ledger_owed AS (
  SELECT l.account_id, l.mode, l.ledger, r.total, r.moves
  FROM ledger_accounts l
  JOIN (SELECT account_id, mode, max(running) AS total, count(*) AS moves
      FROM ledger_repaid GROUP BY account_id, mode) r USING (account_id, mode)
  WHERE l.ledger = 'owed'
  ORDER BY l.account_id, l.mode
  FOR UPDATE OF l
), ledger_changes AS (
  SELECT k.account_id, k.mode, k.ledger, k.change - COALESCE(o.total, 0) AS change,
      k.moves + COALESCE(o.moves, 0) AS moves, -COALESCE(o.total, 0) AS owed_change
  FROM ledger_locked k
  LEFT JOIN ledger_owed o ON o.account_id = k.account_id AND o.mode = k.mode
      AND k.ledger = 'available'
  UNION ALL
  SELECT account_id, mode, ledger, total, moves, 0
  FROM ledger_owed
), ledger_moved AS (
  UPDATE ledger_accounts l
  SET balance = l.balance + k.change, version = l.version + k.moves, owed = l.owed + k.owed_change
  FROM ledger_changes k
  WHERE l.account_id = k.account_id AND l.mode = k.mode AND l.ledger = k.ledger
  RETURNING l.account_id, l.mode, l.ledger, CASE l.ledger WHEN $17 THEN 1 ELSE -1 END AS side,
      l.balance - k.change AS balance_before, l.version - k.moves AS version_before
), ledger_transferred AS (
  INSERT INTO ledger_transfers (account_id, kind, subject_id, mode, debit, credit, amount,
      connection_id, created_at)
  SELECT account_id, $18, id, mode, $19, $20, amount, connection_id,
      COALESCE(booked_at, clock_timestamp())
  FROM ledger_moves
  UNION ALL
  SELECT account_id, 'owed_repaid', id, mode, 'available', 'owed', amount, NULL,
      COALESCE(booked_at, clock_timestamp())
  FROM ledger_repaid
), ledger_entered AS (
  INSERT INTO ledger_entries (account_id, mode, ledger, version, kind, subject_id, amount,
      balance_after, created_at)
  SELECT b.account_id, b.mode, b.ledger, b.version_before + m.nth, $21, m.id, b.side * m.amount,
      b.balance_before + b.side * m.running, COALESCE(m.booked_at, clock_timestamp())
  FROM ledger_moved b
  JOIN ledger_moves m USING (account_id, mode)
  WHERE b.ledger IN ($22, $23)
  UNION ALL
  SELECT b.account_id, b.mode, b.ledger, b.version_before + r.nth + CASE b.ledger
      WHEN 'available' THEN t.moves ELSE 0 END, 'owed_repaid', r.id, CASE b.ledger
      WHEN 'available' THEN -r.amount ELSE r.amount END, b.balance_before + CASE b.ledger
      WHEN 'available' THEN t.total - r.running ELSE r.running END,
      COALESCE(r.booked_at, clock_timestamp())
  FROM ledger_moved b
  JOIN ledger_repaid r USING (account_id, mode)
  JOIN ledger_totals t USING (account_id, mode)
  WHERE b.ledger IN ('available', 'owed')
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
  SELECT account_id, event_id, mode, sequence, $24, subject_id, resource, trace, clock_timestamp()
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
  WHERE p.deleted_at IS NULL AND $25 = ANY (p.event_types)
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

WITH settled AS (
  INSERT INTO receipt_settlements (account_id, receipt_id, entry, to_account_id, charge_id)
  VALUES ($1::uuid, $2::uuid, $3, $4::uuid, $5::uuid)
  RETURNING account_id, receipt_id
), source AS (
  SELECT NULL::timestamptz AS booked_at, r.account_id, r.mode, r.id, r.amount, r.connection_id
  FROM settled s
  JOIN receipts r ON r.account_id = s.account_id AND r.id = s.receipt_id
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
  SELECT l.account_id, l.mode, l.ledger, t.moves, CASE WHEN l.ledger = $6 THEN t.total
      ELSE -t.total END AS change
  FROM ledger_accounts l
  JOIN ledger_totals t USING (account_id, mode)
  WHERE l.ledger IN ($7, $8)
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
  SELECT account_id, $9, id, mode, $10, $11, amount, connection_id,
      COALESCE(booked_at, clock_timestamp())
  FROM ledger_moves
), ledger_entered AS (
  INSERT INTO ledger_entries (account_id, mode, ledger, version, kind, subject_id, amount,
      balance_after, created_at)
  SELECT b.account_id, b.mode, b.ledger, b.version_before + m.nth, $12, m.id, b.side * m.amount,
      b.balance_before + b.side * m.running, COALESCE(m.booked_at, clock_timestamp())
  FROM ledger_moved b
  JOIN ledger_moves m USING (account_id, mode)
)
SELECT json_build_object('id', r.id)::text AS json
FROM settled s
JOIN receipts r ON r.account_id = s.account_id AND r.id = s.receipt_id;

-- by the ORM: UPDATE inbox_items

-- by the ORM: INSERT INTO audit_log
