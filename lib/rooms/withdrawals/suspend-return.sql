-- a return of no withdrawal
WITH strays AS (
  SELECT $1::uuid AS account_id, s.*
  FROM (SELECT $2::uuid AS id, $3::uuid AS item_id, $4::text AS end_to_end_id, NULL::text AS txid,
      $5::bigint AS amount, $6::timestamptz AS paid_at, NULL::uuid AS charge_account_id,
      NULL::uuid AS charge_id, $7::text AS mode, $8::uuid AS connection_id,
      'return_unmatched' AS reason, '{}'::jsonb AS facts) s
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
)
SELECT json_build_object('id', r.id)::text AS json
FROM suspended r;
