-- a withdrawal, for a program
WITH made AS (
  INSERT INTO withdrawals (account_id, id, mode, status, amount, pix_key_type, pix_key, dict_key,
      webhook_url, external_id, due_at, created_at)
  VALUES ($1::uuid, $2::uuid, $3, 'pending', $4::bigint, $5, $6, $7, $8, $9, now(),
      COALESCE($10::timestamptz, now()))
  RETURNING *
), source AS (
  SELECT w.account_id, w.mode, w.id, w.amount, $11::timestamptz AS booked_at
  FROM made w
), ledger_moves AS (
  SELECT account_id, mode, id, amount, booked_at, row_number() OVER w AS nth,
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
      created_at)
  SELECT account_id, $15, id, mode, $16, $17, amount, COALESCE(booked_at, clock_timestamp())
  FROM ledger_moves
), ledger_entered AS (
  INSERT INTO ledger_entries (account_id, mode, ledger, version, kind, subject_id, amount,
      balance_after, created_at)
  SELECT b.account_id, b.mode, b.ledger, b.version_before + m.nth, $18, m.id, b.side * m.amount,
      b.balance_before + b.side * m.running, COALESCE(m.booked_at, clock_timestamp())
  FROM ledger_moved b
  JOIN ledger_moves m USING (account_id, mode)
)
SELECT (SELECT row_to_json(r) FROM (SELECT w.id, w.external_id, w.mode, w.status, w.amount,
    w.pix_key_type, w.pix_key, w.webhook_url, w.rejection_reason, w.end_to_end_id,
    to_char(w.approved_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS approved_at,
    to_char(w.rejected_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS rejected_at,
    to_char(w.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at,
    to_char(w.updated_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS updated_at) r)::text AS json
FROM made w;

-- a withdrawal, for a member, with an Idempotency-Key
WITH kept AS (
  INSERT INTO idempotency_keys (account_id, mode, path, key, request_hash, resource_id,
      locked_until, expires_at)
  VALUES ($1::uuid, $2, $3, $4, $5, $6::uuid, NULL, now() + make_interval(secs => $7::float8))
), made AS (
  INSERT INTO withdrawals (account_id, id, mode, status, amount, pix_key_type, pix_key, dict_key,
      webhook_url, external_id, due_at, created_at)
  VALUES ($8::uuid, $9::uuid, $10, 'pending', $11::bigint, $12, $13, $14, $15, $16, now(),
      COALESCE($17::timestamptz, now()))
  RETURNING *
), source AS (
  SELECT w.account_id, w.mode, w.id, w.amount, $18::timestamptz AS booked_at
  FROM made w
), noted AS (
  INSERT INTO audit_log (id, account_id, actor_type, actor_id, action, target, after, ip,
      request_id)
  SELECT $19::uuid, s.account_id, 'user', $20::uuid, $21, s.id::text,
      json_build_object('mode', s.mode, 'amount', s.amount), $22, $23
  FROM source s
), ledger_moves AS (
  SELECT account_id, mode, id, amount, booked_at, row_number() OVER w AS nth,
      (sum(amount) OVER w)::bigint AS running
  FROM source
  WINDOW w AS (PARTITION BY account_id, mode ORDER BY id)
), ledger_totals AS (
  SELECT account_id, mode, sum(amount)::bigint AS total, count(*) AS moves
  FROM source
  GROUP BY account_id, mode
), ledger_locked AS (
  SELECT l.account_id, l.mode, l.ledger, t.moves, CASE WHEN l.ledger = $24 THEN t.total
      ELSE -t.total END AS change
  FROM ledger_accounts l
  JOIN ledger_totals t USING (account_id, mode)
  WHERE l.ledger IN ($25, $26)
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
      created_at)
  SELECT account_id, $27, id, mode, $28, $29, amount, COALESCE(booked_at, clock_timestamp())
  FROM ledger_moves
), ledger_entered AS (
  INSERT INTO ledger_entries (account_id, mode, ledger, version, kind, subject_id, amount,
      balance_after, created_at)
  SELECT b.account_id, b.mode, b.ledger, b.version_before + m.nth, $30, m.id, b.side * m.amount,
      b.balance_before + b.side * m.running, COALESCE(m.booked_at, clock_timestamp())
  FROM ledger_moved b
  JOIN ledger_moves m USING (account_id, mode)
)
SELECT (SELECT row_to_json(r) FROM (SELECT w.id, w.external_id, w.mode, w.status, w.amount,
    w.pix_key_type, w.pix_key, w.webhook_url, w.rejection_reason, w.end_to_end_id,
    to_char(w.approved_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS approved_at,
    to_char(w.rejected_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS rejected_at,
    to_char(w.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at,
    to_char(w.updated_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS updated_at) r)::text AS json
FROM made w;
