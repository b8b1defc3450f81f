-- money that the bank gave back
UPDATE receipt_returns
SET due_at = now() + make_interval(secs => $1::float8 / 1000), lease = $2::uuid,
    attempts = attempts + 1
WHERE (account_id, id) IN (SELECT account_id, id
    FROM receipt_returns WHERE due_at <= now() ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED)
RETURNING account_id AS "accountId", id, mode, connection_id AS "connectionId", status, lease,
    attempts;

UPDATE receipt_returns
SET status = $1, return_id = $2, due_at = NULL, lease = NULL, completed_at = now(),
    updated_at = now()
WHERE account_id = $3::uuid AND id = $4::uuid AND status = 'pending' AND lease = $5::uuid
RETURNING receipt_id AS "receiptId", item_id AS "itemId", mode, amount,
    requested_by AS "requestedBy", reason;

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

-- an order that the bank refused
UPDATE receipt_returns
SET due_at = now() + make_interval(secs => $1::float8 / 1000), lease = $2::uuid,
    attempts = attempts + 1
WHERE (account_id, id) IN (SELECT account_id, id
    FROM receipt_returns WHERE due_at <= now() ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED)
RETURNING account_id AS "accountId", id, mode, connection_id AS "connectionId", status, lease,
    attempts;

UPDATE receipt_returns
SET status = $1, rejection_code = $2, rejection_params = $3::json, rejection_reason = $4,
    bank_text = $5, due_at = NULL, lease = NULL, rejected_at = now(), updated_at = now()
WHERE account_id = $6::uuid AND id = $7::uuid AND status = 'pending' AND lease = $8::uuid
RETURNING receipt_id AS "receiptId", item_id AS "itemId", mode, amount,
    requested_by AS "requestedBy", reason;

-- by the ORM: INSERT INTO audit_log
