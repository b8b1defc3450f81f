-- version 1
-- Lets time pass in the test mode of an account, for lib/webhooks/sandbox.ts: what is due in it comes closer, and the
-- worker's own jobs do the rest. What has happened keeps its times. The key of a request in progress, such as the one
-- that calls this, stays. Returns the number of rows that it moved.
CREATE OR REPLACE FUNCTION troco_advance_test(of_account uuid, by interval) RETURNS integer LANGUAGE sql AS $$
  WITH moved_charges AS (
    UPDATE charges SET expires_at = expires_at - by, due_at = due_at - by
    WHERE account_id = of_account AND mode = 'test' AND status = 'pending' RETURNING 1
  ), moved_withdrawals AS (
    UPDATE withdrawals SET approval_due_at = approval_due_at - by
    WHERE account_id = of_account AND mode = 'test' AND approval_due_at IS NOT NULL RETURNING 1
  ), moved_deliveries AS (
    UPDATE deliveries SET due_at = due_at - by
    WHERE account_id = of_account AND mode = 'test' AND due_at IS NOT NULL RETURNING 1
  ), moved_keys AS (
    UPDATE idempotency_keys SET expires_at = expires_at - by
    WHERE account_id = of_account AND mode = 'test' AND locked_until IS NULL RETURNING 1
  )
  SELECT ((SELECT count(*) FROM moved_charges) + (SELECT count(*) FROM moved_withdrawals)
    + (SELECT count(*) FROM moved_deliveries) + (SELECT count(*) FROM moved_keys))::integer
$$;
