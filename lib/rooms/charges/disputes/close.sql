-- an open dispute that was won
-- by the ORM: SELECT FROM charges

-- by the ORM: INSERT INTO ledger_accounts

SELECT
FROM charges
WHERE account_id = $1::uuid AND id = $2::uuid
FOR UPDATE;

SELECT
FROM ledger_accounts
WHERE account_id = $1::uuid AND mode = $2 AND ledger = 'available'
FOR UPDATE;

-- by the ORM: INSERT INTO disputes

-- by the ORM: SELECT FROM disputes

-- by the ORM: UPDATE disputes

WITH moved AS (
  SELECT d.account_id, d.mode, d.id, d.connection_id, $1::bigint AS amount
  FROM disputes d
  WHERE d.account_id = $2::uuid AND d.id = $3::uuid
), source AS (
  SELECT NULL::timestamptz AS booked_at, d.account_id, d.mode, d.id, d.amount, d.connection_id
  FROM moved d
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
  SELECT l.account_id, l.mode, l.ledger, l.owed, CASE l.ledger WHEN $4 THEN 1 WHEN $5 THEN -1
      ELSE 0 END * t.total AS change,
      abs(CASE l.ledger WHEN $6 THEN 1 WHEN $7 THEN -1 ELSE 0 END) * t.moves AS moves,
      0 AS owed_change
  FROM ledger_accounts l
  JOIN ledger_totals t USING (account_id, mode)
  WHERE l.ledger IN ($8,$9)
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
  RETURNING l.account_id, l.mode, l.ledger, CASE l.ledger WHEN $10 THEN 1 ELSE -1 END AS side,
      l.balance - k.change AS balance_before, l.version - k.moves AS version_before
), ledger_transferred AS (
  INSERT INTO ledger_transfers (account_id, kind, subject_id, mode, debit, credit, amount,
      connection_id, created_at)
  SELECT account_id, $11, id, mode, $12, $13, amount, connection_id,
      COALESCE(booked_at, clock_timestamp())
  FROM ledger_moves
  UNION ALL
  SELECT account_id, 'owed_repaid', id, mode, 'available', 'owed', amount, NULL,
      COALESCE(booked_at, clock_timestamp())
  FROM ledger_repaid
), ledger_entered AS (
  INSERT INTO ledger_entries (account_id, mode, ledger, version, kind, subject_id, amount,
      balance_after, created_at)
  SELECT b.account_id, b.mode, b.ledger, b.version_before + m.nth, $14, m.id, b.side * m.amount,
      b.balance_before + b.side * m.running, COALESCE(m.booked_at, clock_timestamp())
  FROM ledger_moved b
  JOIN ledger_moves m USING (account_id, mode)
  WHERE b.ledger IN ($15, $16)
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
)
SELECT json_build_object('id', d.id)::text AS json
FROM moved d;
