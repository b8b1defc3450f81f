-- a withdrawal that the bank never answered
UPDATE withdrawals w
SET end_id = $1::uuid, end_outcome = $2, end_reason = $3, end_proposed_by = $4::uuid,
    end_proposed_at = now(), lease = NULL
WHERE w.account_id = $5::uuid AND w.id = $6::uuid AND w.mode = 'live' AND w.status = 'pending'
    AND w.approval_due_at IS NULL AND (w.lease IS NULL OR w.due_at <= now()) AND w.attempts > 0
    AND (w.created_at < now() - interval '90 days'
    OR EXISTS (SELECT FROM gateway_calls g WHERE g.account_id = w.account_id
    AND g.subject_id = w.id AND g.operation = 'sendPayout'
    AND COALESCE(g.outcome, 'unknown') IN ('ok', 'unknown')
    AND g.created_at <= now() - $7 * interval '1 hour'))
RETURNING w.amount;

-- by the ORM: INSERT INTO audit_log

-- by the ORM: SELECT FROM accounts

-- by the ORM: SELECT FROM users
