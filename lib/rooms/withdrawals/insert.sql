-- a withdrawal, for a program
WITH made AS (
  INSERT INTO withdrawals (account_id, id, mode, status, amount, pix_key_type, pix_key, dict_key,
      webhook_url, webhook_host, external_id, requested_by, approval_reason, approval_due_at,
      approval_barred, due_at, created_at)
  SELECT $1::uuid, $2::uuid, $3, 'pending', $4::bigint, $5, $6, $7, $8, $9, $10, $11::uuid, n.*,
      CASE WHEN n.approval_reason IS NULL THEN now() END, COALESCE($12::timestamptz, now())
  FROM (SELECT r.reason AS approval_reason, CASE
      WHEN r.reason IS NOT NULL THEN now() + $13 * interval '1 hour' END AS approval_due_at,
      CASE WHEN r.reason IS NOT NULL THEN (SELECT array_remove(COALESCE((SELECT CASE
      WHEN COALESCE(m.role_at, m.created_at) > GREATEST(now() - interval '24 hours',
      a.created_at + interval '24 hours') THEN ARRAY[m.user_id,
      COALESCE(m.role_by, m.user_id)] || m.role_via ELSE ARRAY[m.user_id] END
      FROM memberships m WHERE m.account_id = a.id AND m.user_id = $14::uuid),
      (SELECT f.vouchers FROM former_members f WHERE f.account_id = a.id
      AND f.user_id = $15::uuid), ARRAY[$16::uuid]), NULL)
      FROM accounts a WHERE a.id = $17::uuid) END AS approval_barred
      FROM (SELECT (SELECT CASE WHEN $18::bigint > a.approval_above
      OR (a.approval_new_keys AND NOT EXISTS (SELECT
      FROM withdrawals k WHERE k.account_id = a.id AND k.mode = $19 AND k.dict_key = $20
      AND k.status = 'approved')) THEN CASE
      WHEN (COALESCE(a.approval_kept_until > now(), false)
      OR 2 <= (SELECT count(DISTINCT CASE
      WHEN COALESCE(m.role_at, m.created_at) > GREATEST(now() - interval '24 hours',
      a.created_at + interval '24 hours') THEN COALESCE(m.role_by, m.user_id)
      ELSE m.user_id END) FROM memberships m JOIN users u ON u.id = m.user_id WHERE m.account_id =
      a.id AND m.role IN ('owner', 'finance') AND u.disabled_at IS NULL)) THEN CASE
      WHEN $21::bigint > a.approval_above THEN 'amount' ELSE 'new_key' END END END
      FROM accounts a WHERE a.id = $22::uuid) AS reason OFFSET 0) r) n
  RETURNING *
), waiting_noted AS (
  INSERT INTO audit_log (id, account_id, actor_type, actor_id, action, target, after, ip,
      request_id)
  SELECT $23::uuid, s.account_id, 'system', $24::uuid, $25, s.id::text,
      json_build_object('mode', s.mode, 'amount', s.amount), $26, $27
  FROM made s
  WHERE s.approval_reason IS NOT NULL
), source AS (
  SELECT w.account_id, w.mode, w.id, w.amount, $28::timestamptz AS booked_at
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
  SELECT l.account_id, l.mode, l.ledger, t.moves, CASE WHEN l.ledger = $29 THEN t.total
      ELSE -t.total END AS change
  FROM ledger_accounts l
  JOIN ledger_totals t USING (account_id, mode)
  WHERE l.ledger IN ($30, $31)
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
  SELECT account_id, $32, id, mode, $33, $34, amount, COALESCE(booked_at, clock_timestamp())
  FROM ledger_moves
), ledger_entered AS (
  INSERT INTO ledger_entries (account_id, mode, ledger, version, kind, subject_id, amount,
      balance_after, created_at)
  SELECT b.account_id, b.mode, b.ledger, b.version_before + m.nth, $35, m.id, b.side * m.amount,
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
      webhook_url, webhook_host, external_id, requested_by, approval_reason, approval_due_at,
      approval_barred, due_at, created_at)
  SELECT (SELECT COALESCE((SELECT m.account_id FROM memberships m WHERE m.account_id = $8::uuid
      AND m.user_id = $9::uuid AND m.role = $10 FOR SHARE), troco_refuse_caller())), $11::uuid,
      $12, 'pending', $13::bigint, $14, $15, $16, $17, $18, $19, $20::uuid, n.*, CASE
      WHEN n.approval_reason IS NULL THEN now() END, COALESCE($21::timestamptz, now())
  FROM (SELECT r.reason AS approval_reason, CASE
      WHEN r.reason IS NOT NULL THEN now() + $22 * interval '1 hour' END AS approval_due_at,
      CASE WHEN r.reason IS NOT NULL THEN (SELECT array_remove(COALESCE((SELECT CASE
      WHEN COALESCE(m.role_at, m.created_at) > GREATEST(now() - interval '24 hours',
      a.created_at + interval '24 hours') THEN ARRAY[m.user_id,
      COALESCE(m.role_by, m.user_id)] || m.role_via ELSE ARRAY[m.user_id] END
      FROM memberships m WHERE m.account_id = a.id AND m.user_id = $23::uuid),
      (SELECT f.vouchers FROM former_members f WHERE f.account_id = a.id
      AND f.user_id = $24::uuid), ARRAY[$25::uuid]), NULL)
      FROM accounts a WHERE a.id = $26::uuid) END AS approval_barred
      FROM (SELECT (SELECT CASE WHEN $27::bigint > a.approval_above
      OR (a.approval_new_keys AND NOT EXISTS (SELECT
      FROM withdrawals k WHERE k.account_id = a.id AND k.mode = $28 AND k.dict_key = $29
      AND k.status = 'approved')) THEN CASE
      WHEN (COALESCE(a.approval_kept_until > now(), false)
      OR 2 <= (SELECT count(DISTINCT CASE
      WHEN COALESCE(m.role_at, m.created_at) > GREATEST(now() - interval '24 hours',
      a.created_at + interval '24 hours') THEN COALESCE(m.role_by, m.user_id)
      ELSE m.user_id END) FROM memberships m JOIN users u ON u.id = m.user_id WHERE m.account_id =
      a.id AND m.role IN ('owner', 'finance') AND u.disabled_at IS NULL)) THEN CASE
      WHEN $30::bigint > a.approval_above THEN 'amount' ELSE 'new_key' END END END
      FROM accounts a WHERE a.id = $31::uuid) AS reason OFFSET 0) r) n
  RETURNING *
), waiting_noted AS (
  INSERT INTO audit_log (id, account_id, actor_type, actor_id, action, target, after, ip,
      request_id)
  SELECT $32::uuid, s.account_id, 'user', $33::uuid, $34, s.id::text,
      json_build_object('mode', s.mode, 'amount', s.amount), $35, $36
  FROM made s
  WHERE s.approval_reason IS NOT NULL
), source AS (
  SELECT w.account_id, w.mode, w.id, w.amount, $37::timestamptz AS booked_at
  FROM made w
), noted AS (
  INSERT INTO audit_log (id, account_id, actor_type, actor_id, action, target, after, ip,
      request_id)
  SELECT $38::uuid, s.account_id, 'user', $39::uuid, $40, s.id::text,
      json_build_object('mode', s.mode, 'amount', s.amount), $41, $42
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
  SELECT l.account_id, l.mode, l.ledger, t.moves, CASE WHEN l.ledger = $43 THEN t.total
      ELSE -t.total END AS change
  FROM ledger_accounts l
  JOIN ledger_totals t USING (account_id, mode)
  WHERE l.ledger IN ($44, $45)
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
  SELECT account_id, $46, id, mode, $47, $48, amount, COALESCE(booked_at, clock_timestamp())
  FROM ledger_moves
), ledger_entered AS (
  INSERT INTO ledger_entries (account_id, mode, ledger, version, kind, subject_id, amount,
      balance_after, created_at)
  SELECT b.account_id, b.mode, b.ledger, b.version_before + m.nth, $49, m.id, b.side * m.amount,
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
