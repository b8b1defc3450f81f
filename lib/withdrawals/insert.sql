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
      approval_reason, approval_due_at, approval_barred, created_at)
  SELECT $1::uuid, $2::uuid, $3, $4::uuid, 'pending', $5::bigint, $6, $7, $8, $9, $10, $11, $12,
      $13::uuid, $14, n.*, COALESCE($15::timestamptz, now())
  FROM (SELECT r.reason AS approval_reason, CASE
      WHEN r.reason IS NOT NULL THEN now() + $16 * interval '1 hour' END AS approval_due_at,
      CASE WHEN r.reason IS NOT NULL THEN (SELECT COALESCE((SELECT array_agg(DISTINCT v.id)
      FROM jsonb_to_recordset($17::jsonb) AS m (id uuid, ids uuid[],
      since timestamptz) CROSS JOIN unnest(CASE
      WHEN COALESCE(m.since > GREATEST(now() - interval '24 hours',
      a.created_at + interval '24 hours'), true) THEN m.ids ELSE ARRAY[m.id] END) AS v (id)),
      '{}') FROM accounts a WHERE a.id = $18::uuid) END AS approval_barred
      FROM (SELECT (SELECT CASE WHEN c.reason IS NOT NULL THEN CASE
      WHEN (COALESCE(a.approval_kept_until > now(), false)
      OR 2 <= (SELECT count(DISTINCT CASE
      WHEN COALESCE(m.since > GREATEST(now() - interval '24 hours',
      a.created_at + interval '24 hours'), true) THEN m.ids[2] ELSE m.id END)
      FROM jsonb_to_recordset($19::jsonb) AS m (id uuid, ids uuid[],
      since timestamptz))) THEN CASE WHEN c.reason <> 'day_amount' THEN c.reason
      WHEN (SELECT troco_withdrawn(a.id, $20, d.day::timestamp AT TIME ZONE 'America/Sao_Paulo',
      (d.day + 1)::timestamp AT TIME ZONE 'America/Sao_Paulo', $21::uuid)
      FROM (SELECT (COALESCE($22::timestamptz,
      now()) AT TIME ZONE 'America/Sao_Paulo')::date AS day) d) + $23::bigint >
      a.approval_day_above THEN c.reason END END END
      FROM accounts a CROSS JOIN LATERAL (SELECT CASE
      WHEN $24::bigint > a.approval_above THEN 'amount' WHEN a.approval_new_keys
      AND NOT EXISTS (SELECT FROM withdrawals k WHERE k.account_id = a.id AND k.mode = $25
      AND k.dict_key = $26 AND k.status = 'approved') THEN 'new_key'
      WHEN a.approval_day_above IS NOT NULL THEN 'day_amount'
      END AS reason OFFSET 0) c WHERE a.id = $27::uuid) AS reason OFFSET 0) r) n
  RETURNING *
), ordered AS (
  INSERT INTO bank_orders (account_id, id, kind, operation, mode, connection_id, amount, target,
      owner_doc, trace, state, due_at, sent_at, attempts, created_at)
  SELECT s.account_id, s.id, 'withdrawal', 'payout', s.mode, s.connection_id, s.amount, s.dict_key,
      s.owner_doc, s.trace, CASE WHEN s.approval_reason IS NOT NULL THEN 'held' ELSE 'waiting' END,
      CASE WHEN NOT s.approval_reason IS NOT NULL THEN now() END, NULL, 0, now()
  FROM made s
), waiting_noted AS (
  INSERT INTO audit_log (id, account_id, actor_type, actor_id, action, target, after, ip,
      request_id)
  SELECT $28::uuid, s.account_id, 'system', $29::uuid, $30, s.id::text,
      json_build_object('mode', s.mode, 'amount', s.amount), $31, $32
  FROM made s
  WHERE s.approval_reason IS NOT NULL
), source AS (
  SELECT $33::timestamptz AS booked_at, w.account_id, w.mode, w.id, w.amount
  FROM made w
), booked AS (
  SELECT troco_book('withdrawal_held', 'available', 'outbound', NULL,
      array_agg(ROW(s.account_id, s.mode, s.id, s.amount, NULL, s.booked_at, NULL, NULL, NULL,
      NULL, NULL, NULL)::troco_booking))
  FROM source s
)
SELECT (SELECT row_to_json(r) FROM (SELECT w.id, w.external_id, w.mode, w.status, w.amount,
    w.pix_key_type, w.pix_key, w.owner_doc, w.webhook_url, w.rejection_reason, w.rejection_code,
    CASE WHEN w.status <> 'pending' THEN NULL
    WHEN w.approval_due_at IS NOT NULL THEN 'approval'
    ELSE COALESCE((SELECT CASE WHEN o.state = 'waiting'
    AND o.attempts = 0 THEN 'balance_window' ELSE 'bank' END
    FROM bank_orders o WHERE o.account_id = w.account_id AND o.id = w.id), 'balance_window')
    END AS awaiting, w.end_to_end_id,
    to_char(w.approved_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS approved_at,
    to_char(w.rejected_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS rejected_at,
    w.returned_amount, to_char(w.created_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at,
    to_char(w.updated_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS updated_at) r)::text AS json
FROM made w
CROSS JOIN booked;

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
  VALUES ($1::uuid, $2, $3, $4, $5, $6::uuid, NULL, NULL, now() + make_interval(secs => $7::float8))
), made AS (
  INSERT INTO withdrawals (account_id, id, mode, connection_id, status, amount, pix_key_type,
      pix_key, dict_key, owner_doc, webhook_url, webhook_host, external_id, requested_by, trace,
      approval_reason, approval_due_at, approval_barred, created_at)
  SELECT $8::uuid, $9::uuid, $10, $11::uuid, 'pending', $12::bigint, $13, $14, $15, $16, $17, $18,
      $19, $20::uuid, $21, n.*, COALESCE($22::timestamptz, now())
  FROM (SELECT r.reason AS approval_reason, CASE
      WHEN r.reason IS NOT NULL THEN now() + $23 * interval '1 hour' END AS approval_due_at,
      CASE WHEN r.reason IS NOT NULL THEN (SELECT COALESCE((SELECT array_agg(DISTINCT v.id)
      FROM jsonb_to_recordset($24::jsonb) AS m (id uuid, ids uuid[],
      since timestamptz) CROSS JOIN unnest(CASE
      WHEN COALESCE(m.since > GREATEST(now() - interval '24 hours',
      a.created_at + interval '24 hours'), true) THEN m.ids ELSE ARRAY[m.id] END) AS v (id)),
      '{}') FROM accounts a WHERE a.id = $25::uuid) END AS approval_barred
      FROM (SELECT (SELECT CASE WHEN c.reason IS NOT NULL THEN CASE
      WHEN (COALESCE(a.approval_kept_until > now(), false)
      OR 2 <= (SELECT count(DISTINCT CASE
      WHEN COALESCE(m.since > GREATEST(now() - interval '24 hours',
      a.created_at + interval '24 hours'), true) THEN m.ids[2] ELSE m.id END)
      FROM jsonb_to_recordset($26::jsonb) AS m (id uuid, ids uuid[],
      since timestamptz))) THEN CASE WHEN c.reason <> 'day_amount' THEN c.reason
      WHEN (SELECT troco_withdrawn(a.id, $27, d.day::timestamp AT TIME ZONE 'America/Sao_Paulo',
      (d.day + 1)::timestamp AT TIME ZONE 'America/Sao_Paulo', $28::uuid)
      FROM (SELECT (COALESCE($29::timestamptz,
      now()) AT TIME ZONE 'America/Sao_Paulo')::date AS day) d) + $30::bigint >
      a.approval_day_above THEN c.reason END END END
      FROM accounts a CROSS JOIN LATERAL (SELECT CASE
      WHEN $31::bigint > a.approval_above THEN 'amount' WHEN a.approval_new_keys
      AND NOT EXISTS (SELECT FROM withdrawals k WHERE k.account_id = a.id AND k.mode = $32
      AND k.dict_key = $33 AND k.status = 'approved') THEN 'new_key'
      WHEN a.approval_day_above IS NOT NULL THEN 'day_amount'
      END AS reason OFFSET 0) c WHERE a.id = $34::uuid) AS reason OFFSET 0) r) n
  RETURNING *
), ordered AS (
  INSERT INTO bank_orders (account_id, id, kind, operation, mode, connection_id, amount, target,
      owner_doc, trace, state, due_at, sent_at, attempts, created_at)
  SELECT s.account_id, s.id, 'withdrawal', 'payout', s.mode, s.connection_id, s.amount, s.dict_key,
      s.owner_doc, s.trace, CASE WHEN s.approval_reason IS NOT NULL THEN 'held' ELSE 'waiting' END,
      CASE WHEN NOT s.approval_reason IS NOT NULL THEN now() END, NULL, 0, now()
  FROM made s
), waiting_noted AS (
  INSERT INTO audit_log (id, account_id, actor_type, actor_id, action, target, after, ip,
      request_id)
  SELECT $35::uuid, s.account_id, 'user', $36::uuid, $37, s.id::text,
      json_build_object('mode', s.mode, 'amount', s.amount), $38, $39
  FROM made s
  WHERE s.approval_reason IS NOT NULL
), source AS (
  SELECT $40::timestamptz AS booked_at, w.account_id, w.mode, w.id, w.amount
  FROM made w
), audited AS (
  INSERT INTO audit_log (id, account_id, actor_type, actor_id, action, target, after, ip,
      request_id)
  SELECT $41::uuid, s.account_id, 'user', $42::uuid, $43, s.id::text,
      json_build_object('mode', s.mode, 'amount', s.amount), $44, $45
  FROM source s
), booked AS (
  SELECT troco_book('withdrawal_held', 'available', 'outbound', NULL,
      array_agg(ROW(s.account_id, s.mode, s.id, s.amount, NULL, s.booked_at, NULL, NULL, NULL,
      NULL, NULL, NULL)::troco_booking))
  FROM source s
)
SELECT (SELECT row_to_json(r) FROM (SELECT w.id, w.external_id, w.mode, w.status, w.amount,
    w.pix_key_type, w.pix_key, w.owner_doc, w.webhook_url, w.rejection_reason, w.rejection_code,
    CASE WHEN w.status <> 'pending' THEN NULL
    WHEN w.approval_due_at IS NOT NULL THEN 'approval'
    ELSE COALESCE((SELECT CASE WHEN o.state = 'waiting'
    AND o.attempts = 0 THEN 'balance_window' ELSE 'bank' END
    FROM bank_orders o WHERE o.account_id = w.account_id AND o.id = w.id), 'balance_window')
    END AS awaiting, w.end_to_end_id,
    to_char(w.approved_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS approved_at,
    to_char(w.rejected_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS rejected_at,
    w.returned_amount, to_char(w.created_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at,
    to_char(w.updated_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS updated_at) r)::text AS json
FROM made w
CROSS JOIN booked;
