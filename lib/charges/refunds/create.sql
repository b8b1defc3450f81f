-- a refund, for a program
WITH locked AS (
  SELECT c.account_id, c.id, c.status, c.paid_at,
      c.amount - c.refunded_amount - c.refund_held_amount AS unspent
  FROM charges c
  WHERE c.account_id = $1::uuid AND c.mode = $2 AND c.id = $3::uuid AND c.status <> 'opening'
  FOR UPDATE
), counted AS (
  SELECT k.*, d.disputed, d.lost, k.unspent - d.disputed - d.lost AS remaining
  FROM locked k
  CROSS JOIN LATERAL troco_disputed(k.account_id, k.id) d
), judged AS (
  SELECT k.account_id, k.id, CASE WHEN k.id IS NULL THEN troco_refuse('transaction_not_found')
      WHEN k.status <> 'paid' THEN troco_refuse('not_paid')
      WHEN k.paid_at < now() - make_interval(days => $4::int) THEN
      troco_refuse('refund_window_closed')
      WHEN COALESCE($5::bigint, 1) > k.remaining THEN troco_refuse('above_remaining',
      json_build_object('remaining', k.remaining, 'disputed', k.disputed, 'lost', k.lost))
      ELSE COALESCE($6::bigint, k.remaining) END AS amount
  FROM (SELECT) one
  LEFT JOIN counted k ON true
), charged AS (
  UPDATE charges c
  SET refund_held_amount = c.refund_held_amount + j.amount, updated_at = now()
  FROM judged j
  WHERE c.account_id = j.account_id AND c.id = j.id
  RETURNING c.account_id, c.id, c.mode, c.connection_id, c.end_to_end_id, j.amount
), made AS (
  INSERT INTO refunds (account_id, id, charge_id, mode, connection_id, status, amount, reason,
      trace)
  SELECT account_id, $7::uuid, id, mode, connection_id, 'pending', amount, $8, $9
  FROM charged
  RETURNING *
), ordered AS (
  INSERT INTO bank_orders (account_id, id, kind, operation, mode, connection_id, amount, target,
      owner_doc, trace, state, due_at, sent_at, attempts, created_at)
  SELECT s.account_id, s.id, 'refund', 'refund', s.mode, s.connection_id, s.amount,
      c.end_to_end_id, NULL, s.trace, CASE WHEN false THEN 'held' ELSE 'waiting' END, CASE
      WHEN NOT false THEN now() END, NULL, 0, now()
  FROM made s
  CROSS JOIN charged c
), source AS (
  SELECT NULL::timestamptz AS booked_at, r.account_id, r.mode, r.id, r.amount
  FROM made r
), booked AS (
  SELECT troco_book('refund_held', 'available', 'outbound', NULL,
      array_agg(ROW(s.account_id, s.mode, s.id, s.amount, NULL, s.booked_at, NULL, NULL, NULL,
      NULL, NULL, NULL)::troco_booking))
  FROM source s
)
SELECT (SELECT row_to_json(r) FROM (SELECT r.id, r.charge_id AS transaction_id, r.amount, r.status,
    r.reason, to_char(r.created_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at, r.mode, r.rejection_reason, r.rejection_code,
    r.return_id, to_char(r.completed_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS completed_at,
    to_char(r.rejected_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS rejected_at,
    to_char(r.updated_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS updated_at) r)::text AS json
FROM made r
CROSS JOIN booked;

-- a refund, for a member, with an Idempotency-Key
SELECT COALESCE((SELECT m.account_id FROM memberships m WHERE m.account_id = $1::uuid
    AND m.user_id = $2::uuid AND m.role = $3 FOR SHARE), troco_refuse_caller());

WITH kept AS (
  INSERT INTO idempotency_keys (account_id, mode, path, key, request_hash, resource_id,
      locked_until, locked_by, expires_at)
  VALUES ($1::uuid, $2, $3, $4, $5, $6::uuid, NULL, NULL, now() + make_interval(secs => $7::float8))
), locked AS (
  SELECT c.account_id, c.id, c.status, c.paid_at,
      c.amount - c.refunded_amount - c.refund_held_amount AS unspent
  FROM charges c
  WHERE c.account_id = $8::uuid AND c.mode = $9 AND c.id = $10::uuid AND c.status <> 'opening'
  FOR UPDATE
), counted AS (
  SELECT k.*, d.disputed, d.lost, k.unspent - d.disputed - d.lost AS remaining
  FROM locked k
  CROSS JOIN LATERAL troco_disputed(k.account_id, k.id) d
), judged AS (
  SELECT k.account_id, k.id, CASE WHEN k.id IS NULL THEN troco_refuse('transaction_not_found')
      WHEN k.status <> 'paid' THEN troco_refuse('not_paid')
      WHEN k.paid_at < now() - make_interval(days => $11::int) THEN
      troco_refuse('refund_window_closed')
      WHEN COALESCE($12::bigint, 1) > k.remaining THEN troco_refuse('above_remaining',
      json_build_object('remaining', k.remaining, 'disputed', k.disputed, 'lost', k.lost))
      ELSE COALESCE($13::bigint, k.remaining) END AS amount
  FROM (SELECT) one
  LEFT JOIN counted k ON true
), charged AS (
  UPDATE charges c
  SET refund_held_amount = c.refund_held_amount + j.amount, updated_at = now()
  FROM judged j
  WHERE c.account_id = j.account_id AND c.id = j.id
  RETURNING c.account_id, c.id, c.mode, c.connection_id, c.end_to_end_id, j.amount
), made AS (
  INSERT INTO refunds (account_id, id, charge_id, mode, connection_id, status, amount, reason,
      trace)
  SELECT account_id, $14::uuid, id, mode, connection_id, 'pending', amount, $15, $16
  FROM charged
  RETURNING *
), ordered AS (
  INSERT INTO bank_orders (account_id, id, kind, operation, mode, connection_id, amount, target,
      owner_doc, trace, state, due_at, sent_at, attempts, created_at)
  SELECT s.account_id, s.id, 'refund', 'refund', s.mode, s.connection_id, s.amount,
      c.end_to_end_id, NULL, s.trace, CASE WHEN false THEN 'held' ELSE 'waiting' END, CASE
      WHEN NOT false THEN now() END, NULL, 0, now()
  FROM made s
  CROSS JOIN charged c
), source AS (
  SELECT NULL::timestamptz AS booked_at, r.account_id, r.mode, r.id, r.amount
  FROM made r
), audited AS (
  INSERT INTO audit_log (id, account_id, actor_type, actor_id, action, target, after, ip,
      request_id)
  SELECT $17::uuid, s.account_id, 'user', $18::uuid, $19, s.id::text,
      json_build_object('mode', s.mode, 'amount', s.amount), $20, $21
  FROM source s
), booked AS (
  SELECT troco_book('refund_held', 'available', 'outbound', NULL,
      array_agg(ROW(s.account_id, s.mode, s.id, s.amount, NULL, s.booked_at, NULL, NULL, NULL,
      NULL, NULL, NULL)::troco_booking))
  FROM source s
)
SELECT (SELECT row_to_json(r) FROM (SELECT r.id, r.charge_id AS transaction_id, r.amount, r.status,
    r.reason, to_char(r.created_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at, r.mode, r.rejection_reason, r.rejection_code,
    r.return_id, to_char(r.completed_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS completed_at,
    to_char(r.rejected_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS rejected_at,
    to_char(r.updated_at AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS updated_at) r)::text AS json
FROM made r
CROSS JOIN booked;
