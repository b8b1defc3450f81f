-- version 1
-- The time by which what happened at `since` is judged, for lib/charges/refunds/refund.ts and lib/dashboard/timeline.ts:
-- in test mode, with what the account let pass after it.
CREATE OR REPLACE FUNCTION troco_test_now(of_account uuid, of_mode text, since timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE AS $$
  SELECT now() + make_interval(secs => CASE WHEN of_mode = 'test' THEN COALESCE((
    SELECT sum(s.amount)::float8 FROM sandbox_controls s WHERE s.account_id = of_account AND s.kind = 'clock'
      AND s.created_at >= since AND s.ends_at > now()), 0) ELSE 0 END)
$$;
