-- a withdrawal that waits for approval
SELECT (SELECT row_to_json(r) FROM (SELECT m.user_id AS id, m.role, u.email, u.locale,
    ARRAY[m.user_id, COALESCE(m.role_by, m.user_id)] || m.role_via AS ids,
    COALESCE(m.role_at, m.created_at)::text AS since) r)::text AS json
FROM memberships m
JOIN users u ON u.id = m.user_id
WHERE m.account_id = $1::uuid AND m.role IN ('owner', 'finance') AND u.disabled_at IS NULL
    AND m.user_id = $2::uuid
FOR SHARE OF m;

WITH held AS (
  SELECT o.account_id, o.id
  FROM bank_orders o
  WHERE o.account_id = $1::uuid AND o.id = $2::uuid AND o.state = 'held'
  FOR UPDATE
), released AS (
  UPDATE withdrawals w
  SET approval_due_at = NULL, approval_by = $3::uuid, approval_at = now(), updated_at = now()
  FROM held h
  JOIN accounts a ON a.id = h.account_id
  CROSS JOIN jsonb_to_recordset($4::jsonb) AS m (id uuid, ids uuid[], since timestamptz)
  WHERE w.account_id = h.account_id AND w.id = h.id AND w.mode = $5 AND w.status = 'pending'
      AND w.approval_due_at > now() AND NOT w.approval_barred && CASE
      WHEN COALESCE(m.since > GREATEST(now() - interval '24 hours',
      a.created_at + interval '24 hours'), true) THEN m.ids ELSE ARRAY[m.id] END
  RETURNING w.*
), queued AS (
  UPDATE bank_orders o
  SET state = 'waiting', due_at = now()
  FROM released f
  WHERE o.account_id = f.account_id AND o.id = f.id AND o.state = 'held'
), noted AS (
  INSERT INTO audit_log (id, account_id, actor_type, actor_id, action, target, after, ip,
      request_id)
  SELECT $6::uuid, s.account_id, 'user', $7::uuid, $8, s.id::text,
      json_build_object('mode', s.mode, 'amount', s.amount), $9, $10
  FROM released s
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
FROM released w;

SELECT pg_advisory_xact_lock(troco_books_key($1::uuid, $2));

-- by the ORM: SELECT FROM ledger_accounts
