-- a payment that was not credited, and one without a charge
WITH payments AS (
  SELECT *
  FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::timestamptz[],
      $7::uuid[], $8::uuid[], $9::uuid[], $10::text[]) AS p (id, item_id, end_to_end_id, txid,
      amount, paid_at, charge_account_id, charge_id, connection_id, mode)
), charged AS (
  SELECT c.*
  FROM charges c
  WHERE (c.account_id, c.id) IN (SELECT charge_account_id, charge_id FROM payments)
  ORDER BY c.account_id, c.id
  FOR UPDATE
), strays AS (
  SELECT $11::uuid AS account_id, s.*
  FROM (SELECT p.id, p.item_id, COALESCE(c.mode, p.mode) AS mode,
      COALESCE(c.connection_id, p.connection_id) AS connection_id, p.end_to_end_id, p.txid,
      p.amount, p.paid_at, p.charge_account_id, p.charge_id,
      jsonb_build_object('account_id', c.account_id, 'transaction_id', c.id, 'expected_amount',
      c.amount) AS facts, CASE WHEN c.id IS NULL THEN 'payment_unmatched'
      WHEN c.status = 'paid' THEN 'payment_repeated' ELSE 'payment_amount' END AS reason
      FROM payments p LEFT JOIN charged c ON c.account_id = p.charge_account_id
      AND c.id = p.charge_id WHERE (p.charge_id IS NULL OR c.status = 'paid'
      OR c.amount <> p.amount) -- Credited before payments were claimed; the locked row is current.
      AND c.end_to_end_id IS DISTINCT FROM p.end_to_end_id
      AND NOT EXISTS (SELECT FROM charges b WHERE b.end_to_end_id = p.end_to_end_id)) s
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
)
SELECT json_build_object('id', r.id)::text AS json
FROM suspended r;
