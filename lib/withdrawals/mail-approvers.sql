-- a withdrawal that nobody was mailed about
WITH announced AS (
  UPDATE withdrawals
  SET approval_mailed_at = now()
  WHERE (account_id, id) IN (SELECT account_id, id
      FROM withdrawals WHERE approval_due_at > now()
      AND approval_mailed_at IS NULL ORDER BY approval_due_at LIMIT $1 FOR UPDATE SKIP LOCKED)
  RETURNING account_id, mode, id, amount, approval_due_at, requested_by
)
SELECT DISTINCT ON (n.account_id, n.mode) n.account_id AS "accountId", n.mode, a.name AS account,
    (count(*) OVER (PARTITION BY n.account_id, n.mode))::int AS count, n.id, n.amount,
    n.approval_due_at AS ends, n.requested_by AS "requestedBy"
FROM announced n
JOIN accounts a ON a.id = n.account_id
ORDER BY n.account_id, n.mode, n.approval_due_at;

SELECT (SELECT row_to_json(r) FROM (SELECT m.user_id AS id, m.role, u.email, u.locale,
    ARRAY[m.user_id, COALESCE(m.role_by, m.user_id)] || m.role_via AS ids,
    COALESCE(m.role_at, m.created_at)::text AS since) r)::text AS json
FROM memberships m
JOIN users u ON u.id = m.user_id
WHERE m.account_id = $1::uuid AND m.role IN ('owner', 'finance') AND u.disabled_at IS NULL;

SELECT m.id
FROM withdrawals w
JOIN accounts a ON a.id = w.account_id
CROSS JOIN jsonb_to_recordset($1::jsonb) AS m (id uuid, ids uuid[], since timestamptz)
WHERE w.account_id = $2::uuid AND w.id = $3::uuid AND NOT w.approval_barred && CASE
    WHEN COALESCE(m.since > GREATEST(now() - interval '24 hours',
    a.created_at + interval '24 hours'), true) THEN m.ids ELSE ARRAY[m.id] END;

-- by the ORM: INSERT INTO mails
