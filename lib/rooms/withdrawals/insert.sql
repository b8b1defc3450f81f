-- a withdrawal, for a program
SELECT (SELECT row_to_json(r) FROM (SELECT m.user_id AS id, m.role, u.email, u.locale,
    ARRAY[m.user_id, COALESCE(m.role_by, m.user_id)] || m.role_via AS ids,
    COALESCE(m.role_at, m.created_at)::text AS since) r)::text AS json
FROM memberships m
JOIN users u ON u.id = m.user_id
WHERE m.account_id = $1::uuid AND m.role IN ('owner', 'finance') AND u.disabled_at IS NULL;

WITH made AS (
  INSERT INTO withdrawals (account_id, id, mode, connection_id, status, amount, pix_key_type,
      pix_key, dict_key, owner_doc, webhook_url, webhook_host, external_id, requested_by, trace,
      approval_reason, approval_due_at, approval_barred, due_at, created_at)
  SELECT $1::uuid, $2::uuid, $3, $4::uuid, 'pending', $5::bigint, $6, $7, $8, $9, $10, $11, $12,
      $13::uuid, $14, n.*, CASE WHEN n.approval_reason IS NULL THEN now() END,
      COALESCE($15::timestamptz, now())
  FROM (SELECT r.reason AS approval_reason, CASE
      WHEN r.reason IS NOT NULL THEN now() + $16 * interval '1 hour' END AS approval_due_at,
      CASE WHEN r.reason IS NOT NULL THEN (SELECT COALESCE((SELECT array_agg(DISTINCT v.id)
      FROM jsonb_to_recordset($17::jsonb) AS m (id uuid, ids uuid[],
      since timestamptz) CROSS JOIN unnest(CASE
      WHEN COALESCE(m.since > GREATEST(now() - interval '24 hours',
      a.created_at + interval '24 hours'), true) THEN m.ids ELSE ARRAY[m.id] END) AS v (id)),
      '{}') FROM accounts a WHERE a.id = $18::uuid) END AS approval_barred
      FROM (SELECT (SELECT CASE WHEN $19::bigint > a.approval_above
      OR (a.approval_new_keys AND NOT EXISTS (SELECT
      FROM withdrawals k WHERE k.account_id = a.id AND k.mode = $20 AND k.dict_key = $21
      AND k.status = 'approved')) THEN CASE
      WHEN (COALESCE(a.approval_kept_until > now(), false)
      OR 2 <= (SELECT count(DISTINCT CASE
      WHEN COALESCE(m.since > GREATEST(now() - interval '24 hours',
      a.created_at + interval '24 hours'), true) THEN m.ids[2] ELSE m.id END)
      FROM jsonb_to_recordset($22::jsonb) AS m (id uuid, ids uuid[],
      since timestamptz))) THEN CASE WHEN $23::bigint > a.approval_above THEN 'amount'
      ELSE 'new_key' END END END FROM accounts a WHERE a.id = $24::uuid) AS reason OFFSET 0) r) n
  RETURNING *
), waiting_noted AS (
  INSERT INTO audit_log (id, account_id, actor_type, actor_id, action, target, after, ip,
      request_id)
  SELECT $25::uuid, s.account_id, 'system', $26::uuid, $27, s.id::text,
      json_build_object('mode', s.mode, 'amount', s.amount), $28, $29
  FROM made s
  WHERE s.approval_reason IS NOT NULL
), source AS (
  SELECT $30::timestamptz AS booked_at, w.account_id, w.mode, w.id, w.amount
  FROM made w
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
  SELECT l.account_id, l.mode, l.ledger, t.moves, CASE WHEN l.ledger = $31 THEN t.total
      ELSE -t.total END AS change
  FROM ledger_accounts l
  JOIN ledger_totals t USING (account_id, mode)
  WHERE l.ledger IN ($32, $33)
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
  SELECT account_id, $34, id, mode, $35, $36, amount, connection_id,
      COALESCE(booked_at, clock_timestamp())
  FROM ledger_moves
), ledger_entered AS (
  INSERT INTO ledger_entries (account_id, mode, ledger, version, kind, subject_id, amount,
      balance_after, created_at)
  SELECT b.account_id, b.mode, b.ledger, b.version_before + m.nth, $37, m.id, b.side * m.amount,
      b.balance_before + b.side * m.running, COALESCE(m.booked_at, clock_timestamp())
  FROM ledger_moved b
  JOIN ledger_moves m USING (account_id, mode)
)
SELECT (SELECT row_to_json(r) FROM (SELECT w.id, w.external_id, w.mode, w.status, w.amount,
    w.pix_key_type, w.pix_key, w.owner_doc, w.webhook_url, w.rejection_reason, w.end_to_end_id,
    to_char(w.approved_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS approved_at,
    to_char(w.rejected_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS rejected_at,
    w.returned_amount, to_char(w.created_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at,
    to_char(w.updated_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS updated_at) r)::text AS json
FROM made w;

-- a withdrawal, for a member, with an Idempotency-Key
SELECT COALESCE((SELECT m.account_id FROM memberships m WHERE m.account_id = $1::uuid
    AND m.user_id = $2::uuid AND m.role = $3 FOR SHARE), troco_refuse_caller());

SELECT (SELECT row_to_json(r) FROM (SELECT m.user_id AS id, m.role, u.email, u.locale,
    ARRAY[m.user_id, COALESCE(m.role_by, m.user_id)] || m.role_via AS ids,
    COALESCE(m.role_at, m.created_at)::text AS since) r)::text AS json
FROM memberships m
JOIN users u ON u.id = m.user_id
WHERE m.account_id = $1::uuid AND m.role IN ('owner', 'finance') AND u.disabled_at IS NULL;

WITH kept AS (
  INSERT INTO idempotency_keys (account_id, mode, path, key, request_hash, resource_id,
      locked_until, locked_by, expires_at)
  VALUES ($1::uuid, $2, $3, $4, $5, $6::uuid, NULL, $7::integer,
      now() + make_interval(secs => $8::float8))
), made AS (
  INSERT INTO withdrawals (account_id, id, mode, connection_id, status, amount, pix_key_type,
      pix_key, dict_key, owner_doc, webhook_url, webhook_host, external_id, requested_by, trace,
      approval_reason, approval_due_at, approval_barred, due_at, created_at)
  SELECT $9::uuid, $10::uuid, $11, $12::uuid, 'pending', $13::bigint, $14, $15, $16, $17, $18, $19,
      $20, $21::uuid, $22, n.*, CASE WHEN n.approval_reason IS NULL THEN now() END,
      COALESCE($23::timestamptz, now())
  FROM (SELECT r.reason AS approval_reason, CASE
      WHEN r.reason IS NOT NULL THEN now() + $24 * interval '1 hour' END AS approval_due_at,
      CASE WHEN r.reason IS NOT NULL THEN (SELECT COALESCE((SELECT array_agg(DISTINCT v.id)
      FROM jsonb_to_recordset($25::jsonb) AS m (id uuid, ids uuid[],
      since timestamptz) CROSS JOIN unnest(CASE
      WHEN COALESCE(m.since > GREATEST(now() - interval '24 hours',
      a.created_at + interval '24 hours'), true) THEN m.ids ELSE ARRAY[m.id] END) AS v (id)),
      '{}') FROM accounts a WHERE a.id = $26::uuid) END AS approval_barred
      FROM (SELECT (SELECT CASE WHEN $27::bigint > a.approval_above
      OR (a.approval_new_keys AND NOT EXISTS (SELECT
      FROM withdrawals k WHERE k.account_id = a.id AND k.mode = $28 AND k.dict_key = $29
      AND k.status = 'approved')) THEN CASE
      WHEN (COALESCE(a.approval_kept_until > now(), false)
      OR 2 <= (SELECT count(DISTINCT CASE
      WHEN COALESCE(m.since > GREATEST(now() - interval '24 hours',
      a.created_at + interval '24 hours'), true) THEN m.ids[2] ELSE m.id END)
      FROM jsonb_to_recordset($30::jsonb) AS m (id uuid, ids uuid[],
      since timestamptz))) THEN CASE WHEN $31::bigint > a.approval_above THEN 'amount'
      ELSE 'new_key' END END END FROM accounts a WHERE a.id = $32::uuid) AS reason OFFSET 0) r) n
  RETURNING *
), waiting_noted AS (
  INSERT INTO audit_log (id, account_id, actor_type, actor_id, action, target, after, ip,
      request_id)
  SELECT $33::uuid, s.account_id, 'user', $34::uuid, $35, s.id::text,
      json_build_object('mode', s.mode, 'amount', s.amount), $36, $37
  FROM made s
  WHERE s.approval_reason IS NOT NULL
), source AS (
  SELECT $38::timestamptz AS booked_at, w.account_id, w.mode, w.id, w.amount
  FROM made w
), noted AS (
  INSERT INTO audit_log (id, account_id, actor_type, actor_id, action, target, after, ip,
      request_id)
  SELECT $39::uuid, s.account_id, 'user', $40::uuid, $41, s.id::text,
      json_build_object('mode', s.mode, 'amount', s.amount), $42, $43
  FROM source s
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
  SELECT l.account_id, l.mode, l.ledger, t.moves, CASE WHEN l.ledger = $44 THEN t.total
      ELSE -t.total END AS change
  FROM ledger_accounts l
  JOIN ledger_totals t USING (account_id, mode)
  WHERE l.ledger IN ($45, $46)
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
  SELECT account_id, $47, id, mode, $48, $49, amount, connection_id,
      COALESCE(booked_at, clock_timestamp())
  FROM ledger_moves
), ledger_entered AS (
  INSERT INTO ledger_entries (account_id, mode, ledger, version, kind, subject_id, amount,
      balance_after, created_at)
  SELECT b.account_id, b.mode, b.ledger, b.version_before + m.nth, $50, m.id, b.side * m.amount,
      b.balance_before + b.side * m.running, COALESCE(m.booked_at, clock_timestamp())
  FROM ledger_moved b
  JOIN ledger_moves m USING (account_id, mode)
)
SELECT (SELECT row_to_json(r) FROM (SELECT w.id, w.external_id, w.mode, w.status, w.amount,
    w.pix_key_type, w.pix_key, w.owner_doc, w.webhook_url, w.rejection_reason, w.end_to_end_id,
    to_char(w.approved_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS approved_at,
    to_char(w.rejected_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS rejected_at,
    w.returned_amount, to_char(w.created_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at,
    to_char(w.updated_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS updated_at) r)::text AS json
FROM made w;
