-- a return of a withdrawal, which is credited or suspended
SELECT mode
FROM withdrawals
WHERE account_id = $1::uuid AND id = $2::uuid
FOR UPDATE;

WITH locked AS (
  SELECT w.account_id, $1::uuid AS id, w.connection_id, $2::text AS end_to_end_id
  FROM withdrawals w
  WHERE w.account_id = $3::uuid AND w.id = $4::uuid AND w.status = 'approved'
      AND w.returned_amount + $5::bigint <= w.amount
  FOR UPDATE
), claimed AS (
  INSERT INTO booked_payments (end_to_end_id, connection_id, account_id, subject_id)
  SELECT CASE WHEN end_to_end_id ~ '^[A-Za-z0-9]{32}$' THEN end_to_end_id
      ELSE connection_id || ' ' || end_to_end_id END, connection_id, account_id, id
  FROM locked
  ORDER BY end_to_end_id
  ON CONFLICT DO NOTHING
  RETURNING account_id, subject_id AS id
), returned AS (
  INSERT INTO payout_returns (account_id, id, withdrawal_id, connection_id, return_id, amount,
      returned_at)
  SELECT account_id, id, $6::uuid, connection_id, end_to_end_id, $7::bigint, $8::timestamptz
  FROM locked
  JOIN claimed USING (account_id, id)
  RETURNING account_id, id, withdrawal_id, amount
), changed AS (
  UPDATE withdrawals w
  SET returned_amount = w.returned_amount + r.amount, updated_at = now()
  FROM returned r
  WHERE w.account_id = r.account_id AND w.id = r.withdrawal_id
  RETURNING w.*
), source AS (
  SELECT NULL::timestamptz AS booked_at, w.account_id, w.mode, w.webhook_url, w.webhook_host,
      w.trace, w.id AS subject_id,
      (SELECT row_to_json(r) FROM (SELECT w.id, w.external_id, w.mode, w.status, w.amount,
      w.pix_key_type, w.pix_key, w.owner_doc, w.webhook_url, w.rejection_reason, w.rejection_code,
      CASE WHEN w.status <> 'pending' THEN NULL
      WHEN w.approval_due_at IS NOT NULL THEN 'approval' WHEN w.place_until IS NULL
      AND w.attempts = 0 THEN 'balance_window' ELSE 'bank' END AS awaiting, w.end_to_end_id,
      to_char(w.approved_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS approved_at,
      to_char(w.rejected_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS rejected_at,
      w.returned_amount, to_char(w.created_at AT TIME ZONE 'UTC',
      'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at,
      to_char(w.updated_at AT TIME ZONE 'UTC',
      'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS updated_at) r) AS resource, r.id, r.amount,
      w.connection_id, $9::uuid AS event_id
  FROM changed w
  JOIN returned r USING (account_id)
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
  SELECT l.account_id, l.mode, l.ledger, l.owed, CASE l.ledger WHEN $10 THEN 1
      WHEN $11 THEN -1 ELSE 0 END * t.total AS change,
      abs(CASE l.ledger WHEN $12 THEN 1 WHEN $13 THEN -1 ELSE 0 END) * t.moves AS moves,
      0 AS owed_change
  FROM ledger_accounts l
  JOIN ledger_totals t USING (account_id, mode)
  WHERE l.ledger IN ($14,$15)
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
  RETURNING l.account_id, l.mode, l.ledger, CASE l.ledger WHEN $16 THEN 1 ELSE -1 END AS side,
      l.balance - k.change AS balance_before, l.version - k.moves AS version_before
), ledger_transferred AS (
  INSERT INTO ledger_transfers (account_id, kind, subject_id, mode, debit, credit, amount,
      connection_id, created_at)
  SELECT account_id, $17, id, mode, $18, $19, amount, connection_id,
      COALESCE(booked_at, clock_timestamp())
  FROM ledger_moves
  UNION ALL
  SELECT account_id, 'owed_repaid', id, mode, 'available', 'owed', amount, NULL,
      COALESCE(booked_at, clock_timestamp())
  FROM ledger_repaid
), ledger_entered AS (
  INSERT INTO ledger_entries (account_id, mode, ledger, version, kind, subject_id, amount,
      balance_after, created_at)
  SELECT b.account_id, b.mode, b.ledger, b.version_before + m.nth, $20, m.id, b.side * m.amount,
      b.balance_before + b.side * m.running, COALESCE(m.booked_at, clock_timestamp())
  FROM ledger_moved b
  JOIN ledger_moves m USING (account_id, mode)
  WHERE b.ledger IN ($21, $22)
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
  SELECT account_id, event_id, mode, sequence, $23, subject_id, resource, trace, clock_timestamp()
  FROM event_rows
), delivery_enqueued AS (
  INSERT INTO deliveries (account_id, id, mode, event_id, subject_id, sequence, endpoint_id, url,
      host, status, due_at)
  SELECT r.account_id, md5(r.event_id::text || p.id::text)::uuid, r.mode, r.event_id, r.subject_id,
      r.sequence, p.id, p.url, COALESCE(p.host, troco_host_of(p.url)), 'pending', CASE
      WHEN p.disabled_at IS NULL THEN now() END
  FROM event_rows r
  JOIN webhook_endpoints p USING (account_id, mode)
  WHERE p.deleted_at IS NULL AND $24 = ANY (p.event_types)
)
SELECT (SELECT row_to_json(r) FROM (SELECT w.id, w.external_id, w.mode, w.status, w.amount,
    w.pix_key_type, w.pix_key, w.owner_doc, w.webhook_url, w.rejection_reason, w.rejection_code,
    CASE WHEN w.status <> 'pending' THEN NULL
    WHEN w.approval_due_at IS NOT NULL THEN 'approval' WHEN w.place_until IS NULL
    AND w.attempts = 0 THEN 'balance_window' ELSE 'bank' END AS awaiting, w.end_to_end_id,
    to_char(w.approved_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS approved_at,
    to_char(w.rejected_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS rejected_at,
    w.returned_amount, to_char(w.created_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at,
    to_char(w.updated_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS updated_at) r)::text AS json
FROM changed w
JOIN returned r USING (account_id);

WITH strays AS (
  SELECT $1::uuid AS account_id, s.*
  FROM (SELECT $2::uuid AS id, $3::uuid AS item_id, $4::text AS end_to_end_id, NULL::text AS txid,
      $5::bigint AS amount, $6::timestamptz AS paid_at, NULL::uuid AS charge_account_id,
      NULL::uuid AS charge_id, w.mode, w.connection_id, 'return_above_payout' AS reason,
      jsonb_build_object('account_id', w.account_id, 'withdrawal_id', w.id, 'sent_amount',
      CASE w.status WHEN 'approved' THEN w.amount ELSE 0 END, 'returned_amount',
      w.returned_amount) AS facts FROM withdrawals w WHERE w.account_id = $7::uuid
      AND w.id = $8::uuid -- A pending one is settled first; then its returns are reported again.
      AND w.status <> 'pending' AND (w.status = 'rejected'
      OR w.returned_amount + $9::bigint > w.amount)) s
), claimed AS (
  INSERT INTO booked_payments (end_to_end_id, connection_id, account_id, subject_id)
  SELECT CASE WHEN end_to_end_id ~ '^[A-Za-z0-9]{32}$' THEN end_to_end_id
      ELSE connection_id || ' ' || end_to_end_id END, connection_id, account_id, id
  FROM strays
  ORDER BY end_to_end_id
  ON CONFLICT DO NOTHING
  RETURNING account_id, subject_id AS id
), suspended AS (
  INSERT INTO receipts (account_id, id, mode, connection_id, end_to_end_id, txid, amount, paid_at,
      reason, charge_account_id, charge_id)
  SELECT account_id, id, mode, connection_id, end_to_end_id, txid, amount, paid_at, reason,
      charge_account_id, charge_id
  FROM strays
  JOIN claimed USING (account_id, id)
  RETURNING *
), items AS (
  SELECT s.item_id, s.connection_id, s.reason AS kind, s.end_to_end_id AS key,
      jsonb_strip_nulls(s.facts || jsonb_build_object('receipt_id', s.id, 'mode', s.mode,
      'end_to_end_id', s.end_to_end_id, 'txid', s.txid, 'amount', s.amount, 'paid_at',
      to_char(s.paid_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')))::json AS facts
  FROM strays s
  JOIN claimed USING (account_id, id)
), noted AS (
  INSERT INTO inbox_items (id, connection_id, kind, key, facts)
  SELECT item_id, connection_id, kind, key, facts
  FROM items
  ON CONFLICT (connection_id, kind, key) DO NOTHING
), source AS (
  SELECT NULL::timestamptz AS booked_at, r.account_id, r.mode, r.id, r.amount, r.connection_id
  FROM suspended r
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
  SELECT l.account_id, l.mode, l.ledger, t.moves, CASE WHEN l.ledger = $10 THEN t.total
      ELSE -t.total END AS change
  FROM ledger_accounts l
  JOIN ledger_totals t USING (account_id, mode)
  WHERE l.ledger IN ($11, $12)
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
  SELECT account_id, $13, id, mode, $14, $15, amount, connection_id,
      COALESCE(booked_at, clock_timestamp())
  FROM ledger_moves
), ledger_entered AS (
  INSERT INTO ledger_entries (account_id, mode, ledger, version, kind, subject_id, amount,
      balance_after, created_at)
  SELECT b.account_id, b.mode, b.ledger, b.version_before + m.nth, $16, m.id, b.side * m.amount,
      b.balance_before + b.side * m.running, COALESCE(m.booked_at, clock_timestamp())
  FROM ledger_moved b
  JOIN ledger_moves m USING (account_id, mode)
)
SELECT json_build_object('id', r.id)::text AS json
FROM suspended r;
