-- a dispute that the balance covers in part
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

-- by the ORM: SELECT FROM disputes

SELECT c.amount - c.refunded_amount - d.disputed - d.lost AS disputable
FROM charges c
CROSS JOIN LATERAL troco_disputed(c.account_id, c.id) d
WHERE c.account_id = $1::uuid AND c.id = $2::uuid;

-- by the ORM: INSERT INTO disputes

-- by the ORM: SELECT FROM ledger_accounts

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
  SELECT l.account_id, l.mode, l.ledger, t.moves, CASE WHEN l.ledger = $4 THEN t.total
      ELSE -t.total END AS change
  FROM ledger_accounts l
  JOIN ledger_totals t USING (account_id, mode)
  WHERE l.ledger IN ($5, $6)
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
  SELECT account_id, $7, id, mode, $8, $9, amount, connection_id,
      COALESCE(booked_at, clock_timestamp())
  FROM ledger_moves
), ledger_entered AS (
  INSERT INTO ledger_entries (account_id, mode, ledger, version, kind, subject_id, amount,
      balance_after, created_at)
  SELECT b.account_id, b.mode, b.ledger, b.version_before + m.nth, $10, m.id, b.side * m.amount,
      b.balance_before + b.side * m.running, COALESCE(m.booked_at, clock_timestamp())
  FROM ledger_moved b
  JOIN ledger_moves m USING (account_id, mode)
)
SELECT json_build_object('id', d.id)::text AS json
FROM moved d;

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
      CASE l.ledger WHEN 'available' THEN $8::int * t.total ELSE 0 END AS owed_change
  FROM ledger_accounts l
  JOIN ledger_totals t USING (account_id, mode)
  WHERE l.ledger IN ($9,$10,$11)
  ORDER BY l.account_id, l.mode, l.ledger
  FOR UPDATE OF l
), ledger_moved AS (
  UPDATE ledger_accounts l
  SET balance = l.balance + k.change, version = l.version + k.moves, owed = l.owed + k.owed_change
  FROM ledger_locked k
  WHERE l.account_id = k.account_id AND l.mode = k.mode AND l.ledger = k.ledger
  RETURNING l.account_id, l.mode, l.ledger, CASE l.ledger WHEN $12 THEN 1 ELSE -1 END AS side,
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
  WHERE b.ledger IN ($17, $18)
)
SELECT json_build_object('id', d.id)::text AS json
FROM moved d;
