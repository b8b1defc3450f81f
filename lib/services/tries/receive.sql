-- the payment of a try
SELECT replace(t.id::text, '-', '') AS txid, t.connection_id AS "connectionId"
FROM bank_tries t
WHERE t.account_id = $1::uuid AND t.id = ANY($2::uuid[]) AND t.status IN ('opening', 'open');

WITH locked AS (
  SELECT t.account_id, t.id, t.connection_id, $1::text AS end_to_end_id
  FROM bank_tries t
  WHERE t.account_id = $2::uuid AND t.id = $3::uuid AND t.status IN ('opening', 'open')
      AND t.amount = $4::bigint AND t.connection_id = ANY($5::uuid[])
  FOR UPDATE
), claimed AS (
  INSERT INTO booked_payments (end_to_end_id, connection_id, account_id, subject_id)
  SELECT CASE WHEN end_to_end_id ~ '^[A-Za-z0-9]{32}$' THEN end_to_end_id
      ELSE connection_id || ' ' || end_to_end_id END, connection_id, account_id, id
  FROM locked
  ORDER BY end_to_end_id
  ON CONFLICT DO NOTHING
  RETURNING account_id, subject_id AS id
), paid AS (
  UPDATE bank_tries t
  SET status = 'paid', end_to_end_id = $6, problem = NULL, problems = NULL,
      paid_at = $7::timestamptz, received_at = now(), refund_status = 'pending', due_at = CASE
      WHEN t.lease IS NULL THEN now() ELSE t.due_at END
  FROM claimed k
  WHERE t.account_id = k.account_id AND t.id = k.id AND t.status IN ('opening', 'open')
  RETURNING t.*
), source AS (
  SELECT NULL::timestamptz AS booked_at, t.account_id, t.mode, t.id, t.amount, t.connection_id
  FROM paid t
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
  SELECT l.account_id, l.mode, l.ledger, t.moves, CASE WHEN l.ledger = $8 THEN t.total
      ELSE -t.total END AS change
  FROM ledger_accounts l
  JOIN ledger_totals t USING (account_id, mode)
  WHERE l.ledger IN ($9, $10)
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
  SELECT account_id, $11, id, mode, $12, $13, amount, connection_id,
      COALESCE(booked_at, clock_timestamp())
  FROM ledger_moves
), ledger_entered AS (
  INSERT INTO ledger_entries (account_id, mode, ledger, version, kind, subject_id, amount,
      balance_after, created_at)
  SELECT b.account_id, b.mode, b.ledger, b.version_before + m.nth, $14, m.id, b.side * m.amount,
      b.balance_before + b.side * m.running, COALESCE(m.booked_at, clock_timestamp())
  FROM ledger_moved b
  JOIN ledger_moves m USING (account_id, mode)
)
SELECT json_build_object('id', t.id)::text AS json
FROM paid t;
