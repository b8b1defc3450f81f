-- money in suspense that the house keeps
SELECT kind, connection_id AS "connectionId", key, resolved_at IS NOT NULL AS "isResolved"
FROM inbox_items
WHERE id = $1::uuid
FOR UPDATE;

-- by the ORM: SELECT FROM receipt_returns

-- by the ORM: SELECT FROM receipts

WITH settled AS (
  INSERT INTO receipt_settlements (account_id, receipt_id, entry, to_account_id, charge_id)
  VALUES ($1::uuid, $2::uuid, $3, $4::uuid, $5::uuid)
  RETURNING account_id, receipt_id
), source AS (
  SELECT NULL::timestamptz AS booked_at, r.account_id, r.mode, r.id, r.amount, r.connection_id
  FROM settled s
  JOIN receipts r ON r.account_id = s.account_id AND r.id = s.receipt_id
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

-- money in suspense that is credited to an account
SELECT kind, connection_id AS "connectionId", key, resolved_at IS NOT NULL AS "isResolved"
FROM inbox_items
WHERE id = $1::uuid
FOR UPDATE;

-- by the ORM: SELECT FROM receipt_returns

-- by the ORM: SELECT FROM receipts

-- by the ORM: SELECT FROM accounts

SELECT
FROM ledger_accounts
WHERE account_id = $1::uuid AND mode = $2 AND ledger = 'available'
FOR UPDATE;

WITH source AS (
  SELECT NULL::timestamptz AS booked_at, $1::uuid AS account_id, $2::text AS mode, $3::uuid AS id,
      $4::bigint AS amount, $5::uuid AS connection_id
  FROM (SELECT) one
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
  SELECT l.account_id, l.mode, l.ledger, l.owed, CASE l.ledger WHEN $6 THEN 1 WHEN $7 THEN -1
      ELSE 0 END * t.total AS change,
      abs(CASE l.ledger WHEN $8 THEN 1 WHEN $9 THEN -1 ELSE 0 END) * t.moves AS moves,
      0 AS owed_change
  FROM ledger_accounts l
  JOIN ledger_totals t USING (account_id, mode)
  WHERE l.ledger IN ($10,$11)
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
  RETURNING l.account_id, l.mode, l.ledger, CASE l.ledger WHEN $12 THEN 1 ELSE -1 END AS side,
      l.balance - k.change AS balance_before, l.version - k.moves AS version_before
), ledger_transferred AS (
  INSERT INTO ledger_transfers (account_id, kind, subject_id, mode, debit, credit, amount,
      connection_id, created_at)
  SELECT account_id, $13, id, mode, $14, $15, amount, connection_id,
      COALESCE(booked_at, clock_timestamp())
  FROM ledger_moves
  UNION ALL
  SELECT account_id, 'owed_repaid', id, mode, 'available', 'owed', amount, NULL,
      COALESCE(booked_at, clock_timestamp())
  FROM ledger_repaid
), ledger_entered AS (
  INSERT INTO ledger_entries (account_id, mode, ledger, version, kind, subject_id, amount,
      balance_after, created_at)
  SELECT b.account_id, b.mode, b.ledger, b.version_before + m.nth, $16, m.id, b.side * m.amount,
      b.balance_before + b.side * m.running, COALESCE(m.booked_at, clock_timestamp())
  FROM ledger_moved b
  JOIN ledger_moves m USING (account_id, mode)
  WHERE b.ledger IN ($17, $18)
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
SELECT json_build_object('id', $19::uuid)::text AS json
FROM (SELECT) one;

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

-- an item without money
SELECT kind, connection_id AS "connectionId", key, resolved_at IS NOT NULL AS "isResolved"
FROM inbox_items
WHERE id = $1::uuid
FOR UPDATE;

-- by the ORM: SELECT FROM receipt_returns

-- by the ORM: UPDATE inbox_items

-- by the ORM: INSERT INTO audit_log
